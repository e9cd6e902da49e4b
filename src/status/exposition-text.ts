/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** One line: labels, or their text when many lines share it, and the value. */
export type MetricSample = readonly [labels: Labels | string, value: number]

/** Samples of one metric name, with its description. */
export interface Family {
  /** Without labels. */
  readonly name: string
  readonly type: 'gauge' | 'counter'
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
  const lines = samples.map(([labels, value]) => {
    const text = typeof labels === 'string' ? labels : labelText(labels)
    return text === '' ? `${name} ${value}` : `${name}{${text}} ${value}`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

/** Labels as written between the braces. */
export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
