/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** Suffix of the family's name. */
export type SampleSuffix = '_sum' | '_count' | '_bucket'

/** One line: its labels, the value, and the end of its name, of a summary or histogram. */
export type MetricSample = readonly [labels: Labels, value: number, suffix?: SampleSuffix]

/** Samples of one metric name, with its description. */
export interface Family {
  /** Without labels. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'summary' | 'histogram'
  /** One sentence for the HELP line. */
  readonly help: string
  readonly samples: readonly MetricSample[]
}

/**
 * A family in the Prometheus text format 0.0.4; empty without a sample. Written by hand: thousands of labelled lines
 * take prom-client ten times as long.
 */
export function familyText({ name, type, help, samples }: Family): string {
  if (samples.length === 0) return ''
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  for (const [labels, value, suffix = ''] of samples) {
    const all = labelText(labels)
    text += `${name}${suffix}${all === '' ? '' : `{${all}}`} ${value}\n`
  }
  return text
}

function labelText(labels: Labels): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

/** One sample a state: 1 for the present one, 0 for the others, so that no state is ever without a line. */
export function stateSamples(states: readonly string[], present: string, labels: Labels = {}): MetricSample[] {
  return states.map(state => [{ ...labels, state }, state === present ? 1 : 0] as const)
}

/** A sample of a value that may be unknown; none while it is. */
export function known(value: number | undefined, labels: Labels = {}): MetricSample[] {
  return value === undefined ? [] : [[labels, value]]
}

const special = /[\\"\n]/

function escaped(value: string): string {
  if (!special.test(value)) return value
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
