import { parseArgs } from 'node:util'
import { atTheEdge } from './edge.ts'

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
