import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { deliveryHolder, takeDeliveryRole } from '../../src/outbox/roles.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { allAccepted, answering } from '../support/listening.ts'
import { metrics } from '../support/metrics.ts'
import { expectHours } from '../support/stored-hours.ts'
import { configured, start, startDaemon, tidegauge } from '../support/tidegauge.ts'

const env = { METRICS_KEY: 'a-key-nobody-may-see' }

/** A service that keeps every push waiting until it is let go, and then takes all. */
async function slowService() {
  const waiting = new Set<() => void>()
  const taken: string[] = []
  let isOpen = false
  const asked = Promise.withResolvers<void>()
  const url = await answering(async (request, body) => {
    if (request.method === 'POST') {
      asked.resolve()
      if (!isOpen) await new Promise<void>(resolve => waiting.add(resolve))
    }
    const { metrics } = JSON.parse(body || '{"metrics":[]}') as { metrics: { id: string }[] }
    taken.push(...metrics.map(({ id }) => id))
    return allAccepted(metrics)
  })
  return {
    url,
    taken,
    /** Resolves when something is pushed. */
    asked: asked.promise,
    open() {
      isOpen = true
      for (const resolve of waiting) resolve()
    },
  }
}

/** A collector that reads only "now": an hour it misses is missed for ever. */
const onlyNow = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({ options: z.strictObject({}), metrics: { Now: {} }, history: false, collect: () => ({ Now: 1 }) })
`

const past = onlyNow.replace('history: false', 'history: true').replaceAll('Now', 'Past')

function staged(url: string) {
  const yaml = `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
protocols:
  - id: vault
    name: Vault
    collectors:
      - use: ./now.ts
      - use: ./past.ts
`
  const { folder, config } = configured(yaml, { 'now.ts': onlyNow, 'past.ts': past })
  return { config, dataFolder: join(folder, 'data') }
}

/** Metrics due from before. */
async function backlog(dataFolder: string): Promise<void> {
  const outbox = new SqliteOutbox(join(dataFolder, 'outbox.db'))
  const hour = hourAfter(hourAt(systemTime.nowMs()), -3)
  await expectHours(outbox, 'vault/c', hour)
  const accepted = metrics(300, hour).map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'vault/c', hour, acceptedValues: accepted }, 1)
  outbox.close()
}

describe('a daemon that starts while a command delivers', () => {
  it.each(['flush', 'backfill'])(
    'collects at once, and is given the delivery role by a %s that would take long',
    async command => {
      const service = await slowService()
      const { config, dataFolder } = staged(service.url)
      await backlog(dataFolder)
      const [from, to] = [-300, -3].map(count => hourText(hourAfter(hourAt(systemTime.nowMs()), count)))
      const range = command === 'backfill' ? ['--from', `${from}`, '--to', `${to}`, '--only', 'vault/past'] : []
      const flush = start([command, ...range, '--config', config], env)
      const ended = once(flush, 'close').then(([code]) => code as number)
      let said = ''
      flush.stderr?.setEncoding('utf8').on('data', text => {
        said += text
      })
      await service.asked
      expect(deliveryHolder(dataFolder)).toMatchObject({ pid: flush.pid })
      const daemon = await startDaemon(config, env)
      expect(await daemon.logged('collected')).toMatchObject({
        collector: expect.stringMatching(/^vault\/(now|past)$/),
      })
      await daemon.logged('the command has released the delivery role: delivering')
      service.open()
      expect(await ended).toBe(0)
      // The two collectors, each in a process of its own, end when they end.
      await daemon.status<{ balance: { due: number } }>(
        ({ balance }) => balance.due === 0 && new Set(service.taken).size >= 302,
      )
      expect(new Set(service.taken).size).toBe(302)
      expect(said).toContain('a daemon has started: it delivers the rest')
      expect(await daemon.kill('SIGTERM')).toBe(0)
    },
  )

  it('collects while the command is suspended, and delivers as soon as that is killed', async () => {
    const service = await slowService()
    const { config, dataFolder } = staged(service.url)
    await backlog(dataFolder)
    const flush = start(['flush', '--config', config], env)
    await service.asked
    flush.kill('SIGSTOP')
    const daemon = await startDaemon(config, env)
    await daemon.logged('collected')
    service.open()
    flush.kill('SIGKILL')
    await daemon.logged('the command has released the delivery role: delivering')
    await daemon.status<{ balance: { due: number } }>(({ balance }) => balance.due === 0)
    const second = await tidegauge(['run', '--config', config], env)
    expect(second).toMatchObject({ code: 75, stdout: '' })
    expect(second.stderr).toContain(`pid: ${daemon.pid}`)
    expect(await daemon.kill('SIGKILL')).toBe(null)
    takeDeliveryRole(dataFolder, config, 0).release()
  })
})
