/** Time for which an equal line is counted and not written, in milliseconds. */
const foldMs = 60_000

/** Different lines remembered, at most. */
const linesMax = 200

/** A line that was written, and how often it came again since. */
interface WrittenLine {
  readonly atMs: number
  /** Without its time, as it came last. */
  text: string
  again: number
}

/** Fields that differ between two attempts at one thing. */
const ofAttempt = /,"(?:attempt":\d+|nextAttempt":"[^"]*")/g

/**
 * Folds warnings and errors that repeat: a line that is equal but for its attempt is written once a minute, with the number
 * of those left out since as `repeated`. Lines of other levels are news, and are never folded. Needs no timer: what was left out is logged with the next
 * line.
 */
export class FoldedLines {
  readonly #written = new Map<string, WrittenLine>()
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  /** @param line JSON that begins with level and time, as pino writes it, with a line break at its end */
  take(line: string): void {
    const parts = /^(\{"level":"(?:warn|error)"),"time":"([^"]+)"(,.*\}\n)$/s.exec(line)
    const [, level = '', time = '', rest = ''] = parts ?? []
    const atMs = Date.parse(time)
    if (Number.isNaN(atMs)) {
      this.#write(line)
      return
    }
    const text = level + rest
    const key = text.replace(ofAttempt, '')
    const known = this.#written.get(key)
    // A clock that was set back must not fold for longer.
    if (known && atMs >= known.atMs && atMs < known.atMs + foldMs) {
      known.again += 1
      known.text = text
      return
    }
    this.#tellOld(atMs, key)
    this.#written.delete(key)
    this.#written.set(key, { atMs, text, again: 0 })
    this.#write(known && known.again > 0 ? repeated(text, time, known.again) : line)
  }

  /** Writes what was left out of lines whose minute is over, and forgets them. */
  #tellOld(atMs: number, except: string): void {
    for (const [key, line] of this.#written) {
      const isOld = atMs < line.atMs || atMs >= line.atMs + foldMs || this.#written.size > linesMax
      if (!isOld || key === except) continue
      this.#written.delete(key)
      if (line.again > 0) this.#write(repeated(line.text, new Date(atMs).toISOString(), line.again))
    }
  }
}

function repeated(text: string, time: string, times: number): string {
  const end = text.indexOf('"', '{"level":"'.length) + 1
  return `${text.slice(0, end)},"time":"${time}","repeated":${times}${text.slice(end)}`
}
