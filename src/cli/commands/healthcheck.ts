import type { Command } from 'commander'
import { statusAddress } from '../../config/addresses.ts'
import type { Config } from '../../config/config.ts'
import { Fault } from '../../model/fault.ts'
import { localUrl } from '../../model/host.ts'
import { parsedJson, valueAt } from '../../model/json.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { daemonAnswer } from '../daemon-answer.ts'
import { endIncomplete } from '../exit.ts'
import { print } from '../terminal.ts'

/**
 * `healthcheck`: asks the running daemon's readiness, for alerts. Ends with 0 or 1.
 *
 * With `--live` it only asks whether the daemon answers, for an orchestrator: a service that is down is no reason to
 * restart the daemon that waits for it.
 */
export function healthcheckCommand(): Command {
  return configuredCommand('healthcheck')
    .description('whether the running daemon is ready')
    .option('--live', 'only whether it lives, for the health check of a container')
    .action(async ({ config, live }: ConfigOption & { live?: true }) => {
      const server = statusAddress(config) ?? (await wholeConfig(config)).status
      if (server.port === 0)
        throw new Fault('daemon-unreachable', 'status.listen has port 0, any free one: a health check cannot know it', {
          fix: 'name a port there',
        })
      if (live) {
        const { ok } = await daemonAnswer(server, '/livez')
        print(ok ? 'live' : 'not live: something else answers there')
        if (!ok) endIncomplete()
        return
      }
      const answer = parsedJson((await daemonAnswer(server, '/readyz')).body)
      if (!isReadyAnswer(answer))
        throw new Fault('daemon-unreachable', `another program answers at ${localUrl(server)}`, {
          fix: 'end it, or correct status.listen',
        })
      const { ready, reasons } = answer
      print(ready ? 'ready' : `not ready: ${reasons.join('; ')}`)
      if (!ready) endIncomplete()
    })
}

/** Reads the whole configuration, for its mistakes. @throws ConfigError */
async function wholeConfig(file: string): Promise<Config> {
  const { loadConfig } = await import('../../config/load.ts')
  return loadConfig(file)
}

interface ReadyAnswer {
  readonly ready: boolean
  readonly reasons: readonly string[]
}

function isReadyAnswer(answer: unknown): answer is ReadyAnswer {
  return typeof valueAt(answer, ['ready']) === 'boolean' && Array.isArray(valueAt(answer, ['reasons']))
}
