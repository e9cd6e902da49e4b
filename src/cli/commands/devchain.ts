import { Command } from 'commander'
import type { Devchain } from '../../devchain/devchain.ts'
import { OpenPort } from '../../edge/open-port.ts'
import { systemTime } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { wholeNumber } from '../selection.ts'
import { Signals } from '../signals.ts'
import { print } from '../terminal.ts'

/** Where the tutorial finds the chain: no node listens there by default. */
const portDefault = 18_545

const pastHours = 48

/** `devchain`: a local chain to try collectors on. */
export function devchainCommand(): Command {
  return new Command('devchain')
    .description(`a local chain with ${pastHours} hours of past, to try collectors on`)
    .option('--port <port>', 'of its JSON-RPC server, on 127.0.0.1', wholeNumber(1, 65_535), portDefault)
    .action(stay)
}

async function stay({ port }: { readonly port: number }): Promise<void> {
  const signals = new Signals('stop')
  try {
    await demandFree(port)
    print(`Building a local chain with ${pastHours} hours of past.`)
    // Loaded now, so that a signal is heeded while it is.
    const { Devchain } = await import('../../devchain/devchain.ts')
    const { stopSignal: signal } = signals
    await using chain = await Devchain.build({ nowMs: systemTime.nowMs(), hours: pastHours, port, signal })
    for (const line of linesOf(chain)) print(line)
    await chain.live(systemTime, signal)
  } catch (error) {
    if (!signals.stopSignal.aborted) throw error
    print('Stopped.')
  }
}

/** @throws Fault `address-unusable` when something listens there, or this user may not */
async function demandFree(port: number): Promise<void> {
  const place = { host: '127.0.0.1', port, headersMsMax: 1_000, requestMsMax: 1_000 }
  try {
    await (await OpenPort.open(place, () => {})).stop()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'is in use, perhaps by another devchain' : `cannot be used: ${code}`
    throw new Fault('address-unusable', `port ${port} ${why}`, {
      fix: 'stop that, or name another one with --port PORT',
    })
  }
}

function linesOf({ url, chainId, addresses }: Devchain): string[] {
  const { dollar, tide, vault, pool, feed, treasury } = addresses
  return [
    `The chain is at ${url}, chain id ${chainId}, with Multicall3 at its usual address and:`,
    `  ${tide}  TIDE, an ERC-20 token with 18 decimals`,
    `  ${dollar}  DUSD, an ERC-20 token with 6 decimals`,
    `  ${vault}  an ERC-4626 vault of DUSD`,
    `  ${pool}  a pair of both, read as one of Uniswap V2`,
    `  ${feed}  a price feed, TIDE in USD`,
    `  ${treasury}  an account that holds ETH`,
    'A block is made each minute. Stop with Ctrl-C.',
  ]
}
