/** A time for which scrapes gave one exposition; without a text, they failed. */
export interface Phase {
  readonly minutes: number
  readonly text?: string
  /** Exposition of another daemon meanwhile; without it, there is none. */
  readonly other?: string
}

/** A course of scrapes, and the alerts that it fires. */
export interface AlertStory {
  readonly name: string
  readonly phases: readonly Phase[]
  /** All alerts that fire at any time. */
  readonly fired: readonly string[]
  /** Those that still do at the end. */
  readonly left: readonly string[]
}

/** The input of `promtool test rules`, which is YAML and so may be JSON. A scrape each minute. */
export function promtoolTests(rulesFile: string, stories: readonly AlertStory[]): string {
  return JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: stories.map(testOf) })
}

const firing = 'ALERTS{alertstate="firing"}'

function testOf({ name, phases, fired, left }: AlertStory) {
  const minutes = phases.reduce((sum, phase) => sum + phase.minutes, 0)
  const at = (expr: string, names: readonly string[]) => ({
    expr: `group by (alertname) (${expr})`,
    eval_time: `${minutes - 1}m`,
    exp_samples: names.map(alertname => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
  })
  return {
    name,
    interval: '1m',
    input_series: seriesOf(phases),
    promql_expr_test: [at(`max_over_time(${firing}[${minutes}m])`, fired), at(firing, left)],
  }
}

function seriesOf(phases: readonly Phase[]): { series: string; values: string }[] {
  const scrapes = phases.map(({ text, other, minutes }) => {
    const samplesOfOther = other === undefined ? [] : samplesOf('other:9464', other)
    return { minutes, samples: new Map([...samplesOf('tidegauge:9464', text), ...samplesOfOther]) }
  })
  const all = new Set(scrapes.flatMap(({ samples }) => [...samples.keys()]))
  return [...all].map(series => ({
    series,
    values: scrapes.map(({ samples, minutes }) => valuesOf(samples.get(series), minutes)).join(' '),
  }))
}

/** As a scrape stores it: a series that is not exposed any more is stale. */
function valuesOf(value: string | undefined, minutes: number): string {
  if (value !== undefined) return `${value}+0x${minutes - 1}`
  return minutes === 1 ? 'stale' : `stale _x${minutes - 1}`
}

/** The own samples of the daemon at an address, by their series, with the labels of a scrape. */
function samplesOf(instance: string, text: string | undefined): ReadonlyMap<string, string> {
  const target = `instance="${instance}",job="tidegauge"`
  const samples = new Map([[`up{${target}}`, text === undefined ? '0' : '1']])
  for (const line of text?.split('\n') ?? []) {
    const [, name, labels, value] = /^(tidegauge_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) {
      samples.set(`${name}{${labels === undefined ? '' : `${labels},`}${target}}`, value)
    }
  }
  return samples
}
