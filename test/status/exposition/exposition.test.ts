import { describe, expect, it } from 'vitest'
import { hourAt } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import { exposition, metricFamilies, ProcessMetrics } from '../../../src/status/exposition/exposition.ts'
import { snapshotFamilies } from '../../../src/status/exposition/families.ts'
import type { Scrape } from '../../../src/status/observe.ts'
import { checkMetrics, promtoolPlace } from '../../support/promtool.ts'
import { emptyScrape, nowMs, richScrape } from '../../support/snapshot.ts'

const snapshotText = (scrape: Parameters<typeof snapshotFamilies>[0]) => exposition(snapshotFamilies(scrape))

const number = String.raw`(?:[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)`
const labelValue = String.raw`"(?:[^"\\\n]|\\["\\n])*"`
const name = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const sampleLine = new RegExp(`^(${name})(?:\\{((?:[a-zA-Z_]\\w*=${labelValue},?)*)\\})? (${number})$`)
const helpLine = new RegExp(`^# HELP (${name}) (?:[^\\\\]|\\\\[\\\\n])+$`)
const typeLine = new RegExp(`^# TYPE (${name}) (?:counter|gauge|histogram|summary)$`)

/** Reads the text format 0.0.4 line by line; any other line is an error. */
function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  const described = new Set<string>()
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.split('\n').filter(line => line !== '')) {
    const family = typeLine.exec(line)?.[1]
    if (family !== undefined) {
      expect(described, `${family} is described once`).not.toContain(family)
      described.add(family)
    } else if (!helpLine.test(line)) {
      const [, sample = '', labels = '', value = ''] =
        sampleLine.exec(line) ?? expect.fail(`not in the format: ${line}`)
      const base = sample.replace(/_(?:bucket|sum|count)$/, '')
      expect(described.has(sample) || described.has(base), `${sample} has a type`).toBe(true)
      expect(samples.has(`${sample}{${labels}}`), `${line} is there once`).toBe(false)
      samples.set(`${sample}{${labels}}`, Number(value))
    }
  }
  return samples
}

describe('the exposition of a snapshot', () => {
  const rich = samplesOf(snapshotText(richScrape))

  it('is in the format and under the prefix in every line', () => {
    expect([...rich.keys()].filter(key => !key.startsWith('tidegauge_'))).toEqual([])
  })

  it('holds what waits in the outbox by state', () => {
    const states = ['due', 'dead', 'held'].map(state => rich.get(`tidegauge_outbox_metrics{state="${state}"}`))
    expect(states).toEqual([14, 3, 12])
  })

  it('holds readiness, the last push, the reload, and ages in seconds', () => {
    expect(rich.get('tidegauge_ready{}')).toBe(0)
    expect(rich.get('tidegauge_config_last_reload_successful{}')).toBe(1)
    expect(rich.get('tidegauge_config_last_reload_success_timestamp_seconds{}')).toBe((nowMs - 2_400_000) / 1000)
    expect(rich.get('tidegauge_last_push_timestamp_seconds{}')).toBe((nowMs - 120_000) / 1000)
    expect(rich.get('tidegauge_oldest_hour_age_seconds{state="due"}')).toBe(4 * 3600 + 245.25)
    expect(rich.get('tidegauge_oldest_hour_age_seconds{state="held"}')).toBe(70 * 3600 + 245.25)
    const vault = 'protocol="awesome-vault",collector="awesome-vault/utilisation"'
    expect(rich.get(`tidegauge_collector_delivered_age_seconds{${vault}}`)).toBe(5 * 3600 + 245.25)
    const old = 'protocol="awesome-vault",collector="awesome-vault/erc4626-vault"'
    expect(rich.get(`tidegauge_collector_delivered_age_seconds{${old}}`)).toBe(21 * 24 * 3600 + 245.25)
  })

  it('says of a refused reload that it failed', () => {
    const configuration = { ...richScrape.configuration, refused: { atMs: nowMs, reason: 'a mistake' } }
    const samples = samplesOf(snapshotText({ ...richScrape, configuration }))
    expect(samples.get('tidegauge_config_last_reload_successful{}')).toBe(0)
  })

  it('has one state of delivery for each key, and of each node when it was asked last', () => {
    const present = (name: string) =>
      [...rich].filter(([key, value]) => key.startsWith(`${name}{`) && value === 1).map(([key]) => key)
    expect(present('tidegauge_delivery_gate')).toEqual([
      'tidegauge_delivery_gate{destination="service",state="unavailable"}',
      'tidegauge_delivery_gate{destination="env:OTHER_KEY",state="open"}',
    ])
    expect(present('tidegauge_endpoint_state')).toEqual([
      'tidegauge_endpoint_state{chain="ethereum",endpoint="127.0.0.1:8545",state="well"}',
      'tidegauge_endpoint_state{chain="ethereum",endpoint="rpc.example.com",state="unreachable"}',
    ])
    const calls = 'tidegauge_endpoint_calls_total{chain="ethereum",endpoint="rpc.example.com",outcome="unanswered"}'
    expect(rich.get(calls)).toBe(12)
  })

  it('numbers two nodes of a chain on one host', () => {
    const [node] = richScrape.endpoints
    const endpoints = node ? [node, node] : []
    const samples = samplesOf(snapshotText({ ...richScrape, endpoints }))
    const heads = [...samples.keys()].filter(key => key.startsWith('tidegauge_endpoint_head'))
    expect(heads.map(key => /endpoint="([^"]*)"/.exec(key)?.[1])).toEqual(['127.0.0.1:8545', '127.0.0.1:8545 (2)'])
  })

  it('counts the hours of each collector by state, and gaps by their reason', () => {
    const of = (collector: string) => (state: string) =>
      rich.get(`tidegauge_collections{protocol="awesome-vault",collector="awesome-vault/${collector}",${state}}`)
    const vault = of('erc4626-vault')
    expect(['delivered', 'collected', 'dead'].map(state => vault(`state="${state}"`))).toEqual([44, 1, 0])
    expect(vault('state="gap",code="chain-state-missing"')).toBe(2)
    expect(vault('state="gap"')).toBeUndefined()
    expect(of('utilisation')('state="gap"')).toBe(0)
  })

  it('counts late hours by the reason, and runs with their duration and failures', () => {
    const late = 'protocol="awesome-vault",collector="awesome-vault/utilisation",code="http-unreachable"'
    expect(rich.get(`tidegauge_overdue_collections{${late}}`)).toBe(5)
    expect(rich.get(`tidegauge_collection_failures_total{${late}}`)).toBe(1)
    const vault = 'protocol="awesome-vault",collector="awesome-vault/erc4626-vault"'
    expect(rich.get(`tidegauge_collection_duration_seconds_sum{${vault}}`)).toBe(2)
    expect(rich.get(`tidegauge_collection_duration_seconds_count{${vault}}`)).toBe(2)
  })

  it('holds the values, with a unit where there is one', () => {
    const value = (metric: string, unit: string) =>
      rich.get(`tidegauge_metric_value{protocol="awesome-vault",metric="${metric}",unit="${unit}"}`)
    expect([value('TVL', 'USDC'), value('Paused', '')]).toEqual([12_345_678.9, 0])
  })

  it('holds the daemons of a fleet, what each has of the whole, and every kind of difference', () => {
    const fleetOf = (samples: ReadonlyMap<string, number>) =>
      Object.fromEntries([...samples].filter(([key]) => key.startsWith('tidegauge_fleet_')))
    const none = ['service', 'keys', 'collectors', 'settings', 'definition', 'failing', 'name', 'clock', 'no-daemon']
    expect(fleetOf(rich)).toEqual({
      'tidegauge_fleet_daemon_up{daemon="eu-1"}': 1,
      'tidegauge_fleet_daemon_up{daemon="<i>eu-2</i>"}': 0,
      'tidegauge_fleet_roles{daemon="eu-1",role="deliver"}': 1,
      'tidegauge_fleet_roles{daemon="eu-1",role="report"}': 1,
      'tidegauge_fleet_roles{daemon="<i>eu-2</i>",role="deliver"}': 0,
      'tidegauge_fleet_roles{daemon="<i>eu-2</i>",role="report"}': 0,
      'tidegauge_fleet_differences{kind="version"}': 1,
      ...Object.fromEntries(none.map(kind => [`tidegauge_fleet_differences{kind="${kind}"}`, 0])),
    })
    expect(fleetOf(samplesOf(snapshotText(emptyScrape)))).toEqual({})
  })

  it('leaves out what is not known instead of giving 0', () => {
    const samples = samplesOf(snapshotText(emptyScrape))
    expect([...samples.keys()].filter(key => /last_(?!reload)|age_|skew/.test(key))).toEqual([])
    expect(samples.get('tidegauge_ready{}')).toBe(1)
  })

  it('counts warnings by kind, those in the words of the service together', () => {
    const warning = { kind: 'label-long', text: 'a', count: 2, firstSeenMs: nowMs - 9, lastSeenMs: nowMs - 9 }
    const odd = { ...warning, kind: 'the teapot is short', count: 3, lastSeenMs: nowMs, isAcknowledged: false }
    const warnings = [{ ...warning, isAcknowledged: false }, odd, { ...odd, kind: 'and stout', count: 1 }]
    const samples = samplesOf(snapshotText({ ...emptyScrape, warnings }))
    const count = (kind: string) => samples.get(`tidegauge_service_warnings_total{kind="${kind}"}`)
    expect([count('label-long'), count('other'), count('unit-changed')]).toEqual([2, 4, 0])
    expect(samples.get('tidegauge_service_last_warning_timestamp_seconds{}')).toBe(nowMs / 1000)
  })

  it('escapes labels', () => {
    const id = metricId('vault', '"b\\c\nd')
    const values = [{ id, protocolId: 'vault', hour: hourAt(nowMs), value: 5, unit: 'a"b' }]
    const samples = samplesOf(snapshotText({ ...emptyScrape, values }))
    const labels = String.raw`protocol="vault",metric="\"b\\c\nd",unit="a\"b"`
    expect(samples.get(`tidegauge_metric_value{${labels}}`)).toBe(5)
  })
})

const textOf = (scrape: () => Promise<Scrape> | Scrape) => {
  const families = metricFamilies(scrape, new ProcessMetrics())
  return async () => exposition(await families())
}

it('the process is measured, too, scrape after scrape, and two expositions do not meet', async () => {
  const [one, other] = [textOf(() => richScrape), textOf(async () => emptyScrape)]
  await one()
  const samples = samplesOf(await one())
  expect(samples.get('process_resident_memory_bytes{}')).toBeGreaterThan(0)
  expect(samples.get('tidegauge_ready{}')).toBe(0)
  expect(samplesOf(await other()).get('tidegauge_ready{}')).toBe(1)
})

it.skipIf(promtoolPlace.kind === 'missing')('promtool finds nothing to say about names, units and help', async () => {
  for (const scrape of [emptyScrape, richScrape]) checkMetrics(await textOf(() => scrape)())
  expect(() => checkMetrics('# TYPE a_count gauge\na_count 1\n'), 'a planted mistake').toThrow(/a_count/)
})
