/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** Labels that many samples share; their text is made once. */
export class SharedLabels {
  readonly labels: Labels
  #text: string | undefined

  constructor(labels: Labels) {
    this.labels = labels
  }

  /** As written between the braces. */
  get text(): string {
    this.#text ??= labelText(this.labels)
    return this.#text
  }
}

/** Suffix of the family's name, and labels before the sample's own. */
export interface SampleParts {
  readonly suffix?: '_sum' | '_count' | '_bucket'
  readonly shared?: SharedLabels
}

/** One line: its own labels, the value, and its other parts. */
export type MetricSample = readonly [labels: Labels, value: number, parts?: SampleParts]

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
  for (const [labels, value, parts] of samples) {
    const own = labelText(labels)
    const shared = parts?.shared?.text ?? ''
    const all = shared === '' || own === '' ? shared + own : `${shared},${own}`
    text += `${name}${parts?.suffix ?? ''}${all === '' ? '' : `{${all}}`} ${value}\n`
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
