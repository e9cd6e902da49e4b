import { parseArgs } from 'node:util'
import type { Scene } from '../support/scene.ts'
import { isPortFree } from './daemon.ts'
import { atTheEdge, untilAborted } from './edge.ts'
import { DemoError } from './ending.ts'
import type { DemoContext } from './start.ts'

/** Where the tutorial finds the chain: no node listens there by default. */
const portDefault = 18_545

const usage = `Usage: npm run devchain [-- --port PORT]

Starts a local chain with 48 hours of past, on which collectors can be tried; prints where it is and what is on it.
It stays up until Ctrl-C. The next one begins with the same contracts at the same addresses.

  --port   of the JSON-RPC server, on 127.0.0.1 (default: ${portDefault})
  --help   this text`

type Options = { readonly port: number; readonly help: boolean } | { readonly wrong: string }

function parse(argv: readonly string[]): Options {
  try {
    const { values } = parseArgs({ args: [...argv], options: { port: { type: 'string' }, help: { type: 'boolean' } } })
    const port = Number(values.port ?? portDefault)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return { wrong: `--port: ${values.port} is no port` }
    return { port, help: values.help ?? false }
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) }
  }
}

async function stay(port: number, context: DemoContext): Promise<number> {
  const { ending, terminal } = context
  await using stack = new AsyncDisposableStack()
  if (!(await isPortFree(port))) {
    throw new DemoError(`Port ${port} is in use, perhaps by another devchain: stop that, or add -- --port PORT.`)
  }
  // Loaded now, so that a signal is heeded while it is.
  const { startScene } = await import('./start.ts')
  const scene = await startScene(context, stack, { port })
  for (const line of linesOf(scene)) terminal.say(line)
  return await untilAborted(ending.signal)
}

function linesOf({ url, chainId, addresses }: Scene): string[] {
  const { dollar, tide, vault, pool, feed, treasury } = addresses
  return [
    `The chain is at ${url}, chain id ${chainId}, with Multicall3 at its usual address and:`,
    `  ${tide}  TIDE, an ERC-20 token with 18 decimals`,
    `  ${dollar}  DUSD, an ERC-20 token with 6 decimals`,
    `  ${vault}  an ERC-4626 vault of DUSD`,
    `  ${pool}  a Uniswap V2 pair of both`,
    `  ${feed}  a price feed, TIDE in USD`,
    `  ${treasury}  an account that holds ETH`,
    'A block is made each minute. Stop with Ctrl-C.',
  ]
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parse(argv)
  if ('wrong' in options) {
    process.stderr.write(`${options.wrong}\n\n${usage}\n`)
    return 2
  }
  if (options.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  return atTheEdge(context => stay(options.port, context))
}

process.exitCode = await main(process.argv.slice(2))
