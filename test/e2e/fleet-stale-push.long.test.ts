import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourText } from '../../src/model/hour.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { allAccepted, answering } from '../support/listening.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, levelCollector, startDaemon } from '../support/tidegauge.ts'

interface SentValue {
  readonly timestamp: string
  readonly value: number
}

/** A service that takes the first push, and stores and answers it only when `release` is called. */
async function delayedService() {
  const values: SentValue[] = []
  let release: (() => void) | undefined
  let changed = Promise.withResolvers<void>()
  const news = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const url = await answering(async (request, body) => {
    if (request.method !== 'POST') return { body: { valid: true } }
    const { metrics }: { metrics: SentValue[] } = JSON.parse(body)
    if (!release) {
      const { promise, resolve } = Promise.withResolvers<void>()
      release = resolve
      news()
      await promise
    }
    values.push(...metrics)
    news()
    return allAccepted(metrics)
  })
  return {
    url,
    release: () => release?.(),
    valuesOf: (hour: string) => values.filter(({ timestamp }) => timestamp === hour).map(({ value }) => value),
    async until(isSo: () => boolean) {
      while (!isSo()) await changed.promise
    },
    isWaiting: () => release !== undefined,
  }
}

describe.skipIf(postgresPlace.kind === 'missing')('a deliverer that is paused in a push', () => {
  const databases = useTestDatabases()

  it('leaves the corrected value at the service, although its own arrives after that', async () => {
    const service = await delayedService()
    const address = await databases.empty()
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address }
    const start = (name: string) =>
      startDaemon(
        configured(
          `service: { url: "${service.url}", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: tides, name: Tides, collectors: [{ use: ./level.ts }] }]
`,
          { 'level.ts': levelCollector.replace('history: false', 'history: true') },
        ).config,
        env,
      )
    const paused = await start('eu-1')
    await service.until(service.isWaiting)
    process.kill(paused.pid, 'SIGSTOP')
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const [metric] = await outbox.operators.history('tides___Level')
    if (!metric) throw new Error('nothing was collected')
    const other = await start('eu-2')
    const hour = hourText(metric.hour)
    await service.until(() => service.valuesOf(hour).length === 1)
    const { id, protocolId, collector } = metric
    const accepted = [{ metric: { id, protocolId, hour: metric.hour, value: 2 } }]
    await outbox.intake.record(
      { collector, hour: metric.hour, acceptedValues: accepted, mode: 'correct' },
      systemTime.nowMs(),
    )
    await service.until(() => service.valuesOf(hour).length === 2)
    service.release()
    process.kill(paused.pid, 'SIGCONT')
    await service.until(() => service.valuesOf(hour).length === 4)
    expect(service.valuesOf(hour)).toEqual([1, 2, 1, 2])
    await paused.logged('a value was sent after its correction: the correction is sent again')
    for (const daemon of [paused, other]) expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
