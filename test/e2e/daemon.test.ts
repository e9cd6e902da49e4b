import { describe, expect, it } from 'vitest'
import { hourAt } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { allDelivered, configured, hostYaml, startDaemon, tidegauge } from '../support/tidegauge.ts'

describe('the daemon', () => {
  it('collects the current hour at once, delivers it, shows it, and ends cleanly on SIGTERM', async () => {
    const { config } = configured(hostYaml)
    const begunAt = hourAt(Date.now())
    const daemon = await startDaemon(config)
    const status = await daemon.status<StatusJson>(allDelivered)
    // Four an hour: a full hour may pass meanwhile.
    expect([4, 8]).toContain(status.balance.enqueued)
    expect(status.balance.delivered).toBe(status.balance.enqueued)
    expect(status.hours.rows[0]?.cells.map(({ state }) => state)).toContain('delivered')

    const get = async (path: string) => await fetch(`${daemon.url}${path}`)
    expect((await get('/livez')).status).toBe(200)
    const { status: readiness } = await get('/readyz')
    // An hour that ended before it was read is a gap: the machine's values are of now alone.
    expect([200, ...(hourAt(Date.now()) > begunAt ? [503] : [])]).toContain(readiness)
    expect(await (await get('/metrics')).text()).toContain('tidegauge_')
    expect(await (await get('/')).text()).toContain('This machine')
    expect(status.configuration).toMatchObject({ file: config })

    const shown = await tidegauge(['show', 'this-machine', '--json', '--config', config])
    const labels = (JSON.parse(shown.stdout) as { id: string }[]).map(({ id }) => id)
    expect(labels.sort()).toEqual(status.protocols[0]?.metrics.map(({ id }) => id).sort())

    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(JSON.parse(daemon.log.at(-1) ?? '{}')).toMatchObject({ msg: 'stopped' })
  })
})
