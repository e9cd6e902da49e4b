import type { Command } from 'commander'
import { loadConfig } from '../config/load.ts'
import { Fault } from '../model/fault.ts'
import { systemTime } from '../time.ts'
import { exitCodes } from './exit.ts'
import { type ConfigOption, configuredCommand } from './setting.ts'
import { print } from './terminal.ts'

const answerMsMax = 5_000

/**
 * `healthcheck`: asks the running daemon's readiness, for alerts. Ends with 0 or 1.
 *
 * With `--live` it asks only whether the daemon answers, for an orchestrator: a service that is down is no reason to restart
 * the daemon that waits for it.
 */
export function healthcheckCommand(ended: (code: number) => void): Command {
  return configuredCommand('healthcheck')
    .description('is the running daemon ready?')
    .option('--live', 'only whether it lives, as the container asks')
    .action(async ({ config, live }: ConfigOption & { live?: true }) => {
      const { host, port } = loadConfig(config).status
      const url = `http://${reachable(host)}:${port}`
      if (live) {
        const { ok } = await answerOf(`${url}/livez`)
        print(ok ? 'live' : 'not live: something else answers there')
        if (!ok) ended(exitCodes.incomplete)
        return
      }
      const { ready, reasons } = (await (await answerOf(`${url}/readyz`)).json()) as Ready
      print(ready ? 'ready' : `not ready: ${reasons.join('; ')}`)
      if (!ready) ended(exitCodes.incomplete)
    })
}

interface Ready {
  readonly ready: boolean
  readonly reasons: readonly string[]
}

/** @throws Fault `daemon-unreachable` */
async function answerOf(url: string): Promise<Response> {
  try {
    return await fetch(url, { signal: systemTime.timeout(answerMsMax) })
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
