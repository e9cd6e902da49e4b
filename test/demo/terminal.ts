import type { Time } from '../../src/edge/time.ts'

/** Where the demo speaks. */
export interface Terminal {
  /** A line that stays. */
  say(line: string): void
  /** Progress of work under way: one line that is written over, or, without a terminal, a line now and then. */
  progress(line: string): void
  /** A line about what went wrong. */
  complain(line: string): void
}

interface Streams {
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
}

const plainEveryMs = 2_000
const clearLine = '\r\u001b[2K'

/** Progress is written over on a TTY, and printed when it has changed, every two seconds at most, elsewhere. */
export function terminal({ out, err }: Streams, time: Time): Terminal {
  const clear = out.isTTY ? clearLine : ''
  const say = (line: string) => void out.write(`${clear}${line}\n`)
  const complain = (line: string) => void err.write(`${err.isTTY ? clear : ''}${line}\n`)
  // A line that wraps cannot be written over. Some terminals do not tell their width.
  const shown = (line: string) => line.slice(0, (out.columns || 80) - 1)
  if (out.isTTY) return { say, complain, progress: line => void out.write(clear + shown(line)) }
  let last = { line: '', atMs: 0 }
  return {
    say,
    complain,
    progress(line) {
      if (line === last.line || time.nowMs() - last.atMs < plainEveryMs) return
      last = { line, atMs: time.nowMs() }
      say(line)
    },
  }
}
