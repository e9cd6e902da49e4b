import { describe, expect, it } from 'vitest'
import { snapshotExposition, startExposition } from '../../src/status/exposition.ts'
import { emptyScrape, nowMs, richScrape } from '../support/snapshot.ts'

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
  it('is in the format and under the prefix in every line', () => {
    const samples = samplesOf(snapshotExposition(richScrape))
    expect([...samples.keys()].filter(key => !key.startsWith('tidegauge_'))).toEqual([])
  })

  it('holds the outbox by state, and the states add up', () => {
    const samples = samplesOf(snapshotExposition(richScrape))
    const state = (name: string) => samples.get(`tidegauge_outbox_metrics{state="${name}"}`) ?? Number.NaN
    expect([state('delivered'), state('dead'), state('held'), state('due')]).toEqual([12_451, 3, 12, 14])
    expect(samples.get('tidegauge_outbox_enqueued_metrics{}')).toBe(
      state('delivered') + state('dead') + state('held') + state('due'),
    )
  })

  it('holds readiness, waiting, the last push, and ages in seconds', () => {
    const samples = samplesOf(snapshotExposition(richScrape))
    expect(samples.get('tidegauge_ready{}')).toBe(0)
    expect(samples.get('tidegauge_delivery_waiting{}')).toBe(1)
    expect(samples.get('tidegauge_last_push_timestamp_seconds{}')).toBe((nowMs - 120_000) / 1000)
    expect(samples.get('tidegauge_oldest_hour_age_seconds{state="due"}')).toBe(4 * 3600 + 245.25)
    expect(samples.get('tidegauge_oldest_hour_age_seconds{state="held"}')).toBe(70 * 3600 + 245.25)
    const vault = 'protocol="awesome-vault",collector="awesome-vault/utilisation"'
    expect(samples.get(`tidegauge_collector_delivered_age_seconds{${vault}}`)).toBe(5 * 3600 + 245.25)
    const old = 'protocol="awesome-vault",collector="awesome-vault/erc4626-vault"'
    expect(samples.get(`tidegauge_collector_delivered_age_seconds{${old}}`)).toBe(21 * 24 * 3600 + 245.25)
  })

  it('counts the hours of each collector by state', () => {
    const samples = samplesOf(snapshotExposition(richScrape))
    const vault = 'protocol="awesome-vault",collector="awesome-vault/erc4626-vault"'
    const count = (state: string) => samples.get(`tidegauge_collector_hours{${vault},state="${state}"}`)
    expect([count('delivered'), count('gap'), count('collected'), count('dead')]).toEqual([44, 3, 1, 0])
  })

  it('leaves out what is not known instead of giving 0', () => {
    const samples = samplesOf(snapshotExposition(emptyScrape))
    expect([...samples.keys()].filter(key => /last_|age_/.test(key))).toEqual([])
    expect(samples.get('tidegauge_ready{}')).toBe(1)
  })

  it('counts the warnings of each kind and metric, and escapes labels', () => {
    const warning = { kind: 'a', text: 'a', count: 2, firstSeenMs: nowMs - 9, lastSeenMs: nowMs, isAcknowledged: false }
    const odd = { ...warning, metricId: 'a___"b\\c\nd' } as const
    const samples = samplesOf(
      snapshotExposition({
        ...emptyScrape,
        warnings: [warning, odd, { ...odd, kind: 'b', text: 'b', count: 3 }],
      }),
    )
    expect(samples.get(String.raw`tidegauge_service_warnings_total{kind="b",metric_id="a___\"b\\c\nd"}`)).toBe(3)
    expect(samples.get('tidegauge_service_warnings_total{kind="a",metric_id=""}')).toBe(2)
    expect(samples.get('tidegauge_service_last_warning_timestamp_seconds{}')).toBe(nowMs / 1000)
  })
})

it('the process is measured with the snapshot, scrape after scrape, and two expositions do not meet', async () => {
  const [one, other] = [startExposition(() => richScrape), startExposition(async () => emptyScrape)]
  await one()
  const samples = samplesOf(await one())
  expect(samples.get('process_resident_memory_bytes{}')).toBeGreaterThan(0)
  expect(samples.get('tidegauge_ready{}')).toBe(0)
  expect(samplesOf(await other()).get('tidegauge_ready{}')).toBe(1)
})
