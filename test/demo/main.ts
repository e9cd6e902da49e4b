import { parseArgs } from 'node:util'
import { systemTime } from '../../src/edge/time.ts'
import { DemoError, Ending } from './ending.ts'
import type { DemoContext } from './start.ts'
import { terminal } from './terminal.ts'

const usage = `Usage: npm run demo [-- --once]

Starts a local chain with 48 hours of past, and the daemon on it; shows the widget values and the address of the page.
It stays up until Ctrl-C.

  --once   checks what the service shows against the chain and ends: 0 when all is equal, 1 when not
  --help   this text`

/** The command line; `undefined` when it is wrong. */
function parse(argv: readonly string[]): { readonly once: boolean; readonly help: boolean } | undefined {
  try {
    const { values } = parseArgs({ args: [...argv], options: { once: { type: 'boolean' }, help: { type: 'boolean' } } })
    return { once: values.once ?? false, help: values.help ?? false }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}\n`)
    return undefined
  }
}

/** Runs what stays until it is done or a person ends it; says what went wrong. @returns the exit code */
async function atTheEdge(act: (context: DemoContext) => Promise<number>): Promise<number> {
  const [time, ending] = [systemTime, new Ending(systemTime)]
  const { say, progress, complain } = terminal({ out: process.stdout, err: process.stderr }, time)
  ending.listen()
  try {
    return await act({ time, terminal: { say, progress, complain }, ending })
  } catch (error) {
    if (ending.isAsked) {
      say('Stopped.')
      return 0
    }
    const cause = ending.causeOf(error)
    if (!(cause instanceof DemoError)) throw cause
    for (const line of [cause.message, ...cause.details]) complain(line)
    return 1
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parse(argv)
  if (!options) return 2
  if (options.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  return atTheEdge(async context => {
    // Loaded now, so that a signal is heeded while it is.
    const { demo } = await import('./demo.ts')
    return demo(options, context)
  })
}

process.exitCode = await main(process.argv.slice(2))
