import type { Command } from 'commander'
import { loadConfig } from '../config/load.ts'
import { Fault } from '../model/fault.ts'
import { systemTime } from '../time.ts'
import { exitCodes } from './exit.ts'
import { type ConfigOption, configuredCommand } from './setting.ts'
import { print } from './terminal.ts'

const answerMsMax = 5_000

/** `healthcheck`: asks the running daemon's readiness, for a container. Ends with 0 or 1. */
export function healthcheckCommand(ended: (code: number) => void): Command {
  return configuredCommand('healthcheck')
    .description('for the container: is the running daemon ready?')
    .action(async ({ config }: ConfigOption) => {
      const { host, port } = loadConfig(config).status
      const { ready, reasons } = await ask(`http://${reachable(host)}:${port}/readyz`)
      print(ready ? 'ready' : `not ready: ${reasons.join('; ')}`)
      if (!ready) ended(exitCodes.incomplete)
    })
}

interface Ready {
  readonly ready: boolean
  readonly reasons: readonly string[]
}

async function ask(url: string): Promise<Ready> {
  try {
    const answer = await fetch(url, { signal: systemTime.timeout(answerMsMax) })
    return (await answer.json()) as Ready
  } catch (cause) {
    throw new Fault('daemon-unreachable', `no daemon answers at ${url}`, { fix: 'start it: tidegauge run', cause })
  }
}

/** A server that listens on every address is asked on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
