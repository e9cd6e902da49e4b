import { describe, expect, it } from 'vitest'
import { type Given, hourBack, stage } from '../stage.ts'

describe('what the service would warn about', () => {
  const wordy: Given = {
    metrics: { AVeryLongLabelIndeed: {}, TVL: { unit: 'USD' } },
    values: { AVeryLongLabelIndeed: 1, TVL: 2 },
  }
  type Printed = { warnings: { metric: string; kind: string; text: string }[] }
  const kinds = ({ warnings }: Printed) => warnings.map(({ metric, kind }) => [metric, kind])

  it('is reported by check and collect --dry-run before anything is sent', async () => {
    const { service, run, read, give } = await stage(wordy)
    expect(kinds(await read<Printed>('check'))).toEqual([['pool___AVeryLongLabelIndeed', 'label-long']])
    await run('collect', '--hour', hourBack(3))
    const { stored } = service
    const count = stored.length
    give({ ...wordy, metrics: { ...wordy.metrics, TVL: { unit: 'EUR' } } })
    expect(kinds(await read<Printed>('check'))).toEqual([
      ['pool___AVeryLongLabelIndeed', 'label-long'],
      ['pool___TVL', 'unit-changed'],
    ])
    expect(kinds(await read<Printed>('collect', '--dry-run', '--hour', hourBack(3)))).toEqual([
      ['pool___AVeryLongLabelIndeed', 'label-long'],
      ['pool___AVeryLongLabelIndeed', 'already-exists'],
      ['pool___TVL', 'unit-changed'],
      ['pool___TVL', 'already-exists'],
    ])
    const asked: string[] = []
    service.shows = path => {
      asked.push(path)
      return { status: 200, body: {} }
    }
    const { stdout, stderr } = await run('collect', '--dry-run', '--hour', hourBack(3))
    expect(asked).toEqual([])
    expect(stdout).toContain('0 metrics would be sent')
    expect(stderr).toContain('warning: pool___AVeryLongLabelIndeed, pool___TVL: delivered already for')
    expect(stderr).toContain('warning: pool___TVL: the unit changes from USD to EUR')
    expect(stored).toHaveLength(count)
  })

  it('is reported by a collect whose metrics exist already: it cannot have sent them before', async () => {
    const { service, run, read } = await stage(wordy)
    service.remarks = () => ['already exists: updated']
    const { stdout } = await run('collect', '--hour', hourBack(3))
    expect(stdout).toContain('\nthe service warns: pool___TVL: already exists: updated\n')
    const { serviceWarnings } = await read<{ serviceWarnings: unknown }>('collect', '--hour', hourBack(4))
    expect(serviceWarnings).toContainEqual({ metric: 'pool___TVL', text: 'already exists: updated' })
  })

  it('and does warn about is listed once for each kind and metric, until it is acknowledged', async () => {
    const { service, run, read } = await stage(wordy)
    service.remarks = ({ id, timestamp }) =>
      id === 'pool___TVL' ? [`odd value at ${timestamp}`, `unit USD is odd`] : ['label is too long']
    for (const back of [5, 4, 3]) await run('collect', '--hour', hourBack(back))
    type Warning = { metricId: string; kind: string; count: number; firstSeen: string; lastSeen: string }
    const all = await read<Warning[]>('warnings')
    expect(all.map(({ metricId, kind, count }) => [metricId, kind, count]).sort()).toEqual([
      ['pool___AVeryLongLabelIndeed', 'label-long', 3],
      ['pool___TVL', 'odd value at', 3],
      ['pool___TVL', 'unit-changed', 3],
    ])
    expect(all.every(({ firstSeen, lastSeen }) => firstSeen < lastSeen)).toBe(true)
    expect((await run('warnings')).stdout).toMatch(
      /\nlabel-long +pool___AVeryLongLabelIndeed +3 +\S+Z +\S+Z +label is too long\n/,
    )

    expect(await run('warnings', 'ack', '--kind', 'label-long')).toMatchObject({ stdout: '1 warning acknowledged\n' })
    expect(await run('warnings', 'ack', '--kind', 'label-long')).toMatchObject({ code: 1 })
    const { stdout } = await run('collect', '--hour', hourBack(2))
    expect(stdout).toContain('the service warns: pool___TVL: unit USD is odd\n')
    expect(stdout).not.toContain('the service warns: pool___AVeryLongLabelIndeed')
    expect((await read<Warning[]>('warnings')).map(({ kind }) => kind).sort()).toEqual(['odd value at', 'unit-changed'])
    expect((await read<Warning[]>('warnings', '--all')).find(({ kind }) => kind === 'label-long')?.count).toBe(4)
    const status = (await run('status')).stdout
    expect(status).toContain('warning 4× pool___TVL: unit USD is odd')
    expect(status).not.toContain('label is too long')
    expect(status).toMatch(/1 acknowledged warning: tidegauge warnings --config \S+ --all/)
    expect(await run('warnings', 'ack', 'pool')).toMatchObject({ code: 0, stdout: '2 warnings acknowledged\n' })
    expect((await run('warnings')).stdout).toMatch(
      /^no warnings \(3 acknowledged: tidegauge warnings --config \S+ --all/,
    )
  })
})
