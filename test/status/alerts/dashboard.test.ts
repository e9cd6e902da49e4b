import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exposition, metricFamilies, ProcessMetrics } from '../../../src/status/exposition/exposition.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { promtool, promtoolPlace } from '../../support/promtool.ts'
import { emptyScrape, richScrape } from '../../support/snapshot.ts'
import { alerts } from './rules.ts'

const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.string().regex(/^\$\{datasource\}$/) })
const gridPos = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1),
})
const target = z.object({
  datasource,
  expr: z.string().min(1),
  legendFormat: z.string().min(1),
  refId: z.string().regex(/^[A-Z]$/),
})
const row = z.object({ type: z.literal('row'), id: z.int(), title: z.string(), gridPos, panels: z.tuple([]) })
const graph = z.object({
  type: z.enum(['stat', 'timeseries']),
  id: z.int(),
  title: z.string().min(1),
  description: z.string().min(1),
  datasource,
  gridPos,
  fieldConfig: z.object({ defaults: z.object({ unit: z.string() }), overrides: z.array(z.unknown()) }),
  targets: z.array(target).min(1),
})
const query = z.object({ type: z.literal('query'), name: z.string(), datasource, definition: z.string() })
const source = z.object({
  type: z.literal('datasource'),
  name: z.literal('datasource'),
  query: z.literal('prometheus'),
})

/** As Grafana documents its JSON model, for the kinds of panels that are used. */
const dashboard = z.object({
  title: z.string(),
  uid: z.string().max(40),
  schemaVersion: z.int().min(36),
  timezone: z.literal('utc'),
  time: z.object({ from: z.string(), to: z.string() }),
  templating: z.object({ list: z.tuple([source]).rest(query) }),
  panels: z.array(z.discriminatedUnion('type', [row, graph])),
})

const file = new URL('../../../config/grafana/dashboard.json', import.meta.url)
const { panels, templating } = dashboard.parse(JSON.parse(readFileSync(file, 'utf8')))
const graphs = panels.filter(panel => panel.type !== 'row')
const exprs = graphs.flatMap(({ targets }) => targets.map(({ expr }) => expr))
const [, ...variables] = templating.list

/** Names of metrics in PromQL: Tidegauge's, and those of any process. */
const namesIn = (promql: string) => promql.match(/\b(?:tidegauge|process|nodejs)_\w+/g) ?? []

describe('the dashboard', () => {
  it('has panels that do not overlap, each with an id of its own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
  })

  it('asks for the daemons that are chosen, in every query, by variables that exist', () => {
    const known = ['datasource', ...variables.map(({ name }) => name)]
    for (const expr of exprs) {
      expect(expr).toContain('job=~"$job",instance=~"$instance"')
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect(known).toContain(name)
    }
  })

  it.skipIf(promtoolPlace.kind === 'missing')('has queries that Prometheus can parse', () => {
    const rules = exprs.map((expr, index) => ({ record: `q:${index}`, expr: expr.replace(/\$\w+/g, 'x') }))
    const rulesFile = join(temporaryFolder(), 'rules.yaml')
    writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    expect(promtool(['check', 'rules', rulesFile])).toContain(`${rules.length} rules found`)
  })
})

/** Answers of a panel's queries, as of samples of some daemons, as promtool writes them. */
function expectAnswers(
  title: string,
  series: Readonly<Record<string, number>>,
  answers: Readonly<Record<string, number>>,
) {
  const [panel] = graphs.filter(graph => graph.title === title)
  const expr = (panel?.targets[0]?.expr ?? '').replace(/\$\w+/g, '.*')
  const samples = Object.entries(answers).map(([labels, value]) => ({ labels, value }))
  const tests = [
    {
      interval: '30m',
      input_series: Object.entries(series).map(([name, value]) => ({ series: name, values: `${value}+0x4` })),
      promql_expr_test: [{ expr, eval_time: '1h', exp_samples: samples }],
    },
  ]
  const file = join(temporaryFolder(), 'tests.yaml')
  writeFileSync(file, JSON.stringify({ rule_files: [], tests }))
  expect(promtool(['test', 'rules', file]), title).toContain('SUCCESS')
}

describe.skipIf(promtoolPlace.kind === 'missing')('the dashboard of a fleet of two, and a daemon without one,', () => {
  const instances = ['fleet-1', 'fleet-2', 'alone']
  const seriesOf = (name: string, labels: string, value: number) => [
    ...instances.map(instance => [`${name}{job="tidegauge",instance="${instance}",${labels}}`, value] as const),
    ...instances.slice(0, 2).map(instance => {
      return [`tidegauge_fleet_daemon_up{job="tidegauge",instance="${instance}",daemon="eu-1"}`, 1] as const
    }),
  ]
  it.each<[title: string, name: string, labels: string, answers: Readonly<Record<string, number>>]>([
    ['Due', 'tidegauge_outbox_metrics', 'state="due"', { '{state="due"}': 10 }],
    ['Dead and held', 'tidegauge_outbox_metrics', 'state="held"', { '{state="held"}': 10 }],
    [
      'Delivery',
      'tidegauge_delivery_gate',
      'destination="service",state="unavailable"',
      { '{destination="service",state="unavailable"}': 5 },
    ],
    [
      'Hours that are not delivered',
      'tidegauge_collections',
      'protocol="p",collector="p/c",state="due"',
      { '{state="due"}': 5 },
    ],
    ['Warnings of the service', 'tidegauge_service_warnings_total', 'kind="k"', { '{kind="k"}': 0 }],
  ])('counts what the two share once: %s', (title, name, labels, answers) => {
    expectAnswers(title, Object.fromEntries(seriesOf(name, labels, 5)), answers)
  })
})

describe('every metric that is asked for is exposed,', () => {
  const text = async () =>
    exposition(
      (
        await Promise.all([emptyScrape, richScrape].map(scrape => metricFamilies(() => scrape, new ProcessMetrics())()))
      ).flat(),
    )
  const exposed = async () => new Set([...(await text()).matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name))

  it('by the dashboard and its variables', async () => {
    const names = await exposed()
    const asked = [...exprs, ...variables.map(({ definition }) => definition)].flatMap(namesIn)
    expect(asked.length).toBeGreaterThan(25)
    expect(asked.filter(name => !names.has(name))).toEqual([])
  })

  it('by the alerts', async () => {
    const names = await exposed()
    for (const { alert, expr } of alerts) {
      const asked = namesIn(expr)
      expect(
        asked.filter(name => !names.has(name)),
        alert,
      ).toEqual([])
      expect(asked.length > 0 || alert === 'TidegaugeDown', alert).toBe(true)
    }
  })
})
