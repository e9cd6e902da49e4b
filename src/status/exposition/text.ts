/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** One line: labels, or their text when many lines share it, the value, and what follows the family's name. */
export type MetricSample = readonly [labels: Labels | string, value: number, suffix?: '_sum' | '_count']

/** Samples of one metric name, with its description. */
export interface Family {
  /** Without labels. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'summary'
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
  const lines = samples.map(([labels, value, suffix = '']) => {
    const text = typeof labels === 'string' ? labels : labelText(labels)
    return text === '' ? `${name}${suffix} ${value}` : `${name}${suffix}{${text}} ${value}`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

/** Labels as written between the braces. */
export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')
}

/** One sample a state: 1 for the present one, 0 for the others, so that no state is ever without a line. */
export function stateSamples(states: readonly string[], present: string, labels: Labels = {}): MetricSample[] {
  return states.map(state => [{ ...labels, state }, state === present ? 1 : 0] as const)
}

/** A sample of a value that may be unknown; none while it is. */
export function known(value: number | undefined, labels: Labels = {}): MetricSample[] {
  return value === undefined ? [] : [[labels, value]]
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
