import { type DeclaredMetric, z } from 'tidegauge'

const jump = 'must be a positive number in the metric’s unit, or a part of the last value like "20%"'

/** Longest label that a service takes without a remark, in characters. */
const labelCharsMax = 16

/** Longest unit and module that a service takes, in characters. */
const unitCharsMax = 100
const moduleCharsMax = 100

/** Mistake of a label, which is a part of a metric's id; `undefined` when there is none. */
export function labelMistake(label: string): string | undefined {
  if (/^[A-Za-z0-9._-]+$/.test(label) && !label.includes('___')) return undefined
  const suggestion = label
    .replace(/[^A-Za-z0-9._-]+/g, '')
    .replace(/_{3,}/g, '__')
    .slice(0, labelCharsMax)
  const form = 'must be a label of letters, digits, "-", "_" and ".", without "___"'
  return suggestion === '' ? form : `${form}: write ${suggestion}`
}

/** Options schema of a label. */
export const labelOption = z.string().refine(label => labelMistake(label) === undefined, {
  error: ({ input }) => labelMistake(String(input)),
})

/** Options schema of a part, like "20%": a template alone would take one below 0, too. @param error what it must be */
export function percentage(error: string) {
  return z.templateLiteral([z.number(), '%'], { error }).refine(text => Number.parseFloat(text) > 0, { error })
}

/** Options of every value: the fields of its metric, as a collector in code declares them. */
export const declared = {
  unit: z.string().max(unitCharsMax).optional().describe('unit of the value, such as USD'),
  module: z
    .string()
    .min(1)
    .max(moduleCharsMax)
    .optional()
    .describe('module at the service; protocol, where nothing is written'),
  min: z.number().optional().describe('a value below is held for a person to look at'),
  max: z.number().optional().describe('a value above is held for a person to look at'),
  maxJump: z
    .union([z.number().positive(), percentage(jump)], { error: jump })
    .optional()
    .describe('a larger change since the last value is held for a person to look at'),
  private: z.boolean().optional().describe('kept for formulas and for use: derived, and not sent'),
}

/** The declaration among a value's options. */
export function declaration({ unit, module, min, max, maxJump, ...more }: DeclaredMetric): DeclaredMetric {
  return { unit, module, min, max, maxJump, private: more.private }
}

/** Whether a value is a metric: a private one of another name is for the formulas of its collector alone. */
export function isMetric(label: string, value: { readonly private?: boolean | undefined }): boolean {
  return !value.private || labelMistake(label) === undefined
}

/**
 * The values of metrics. A private one that another needs, and that has no value, is left out: what needs it says so, or does
 * without it.
 *
 * @param values by label, begun
 * @param isNeeded whether another value needs a private label
 */
export async function readingsOf<V>(
  values: Readonly<Record<string, Promise<V>>>,
  isNeeded: (label: string) => boolean,
): Promise<Record<string, Promise<V>>> {
  const entries = Object.entries(values).map(async ([label, value]) => {
    // One that fails early is looked at when all are known.
    value.catch(() => {})
    if (!isNeeded(label)) return [[label, value] as const]
    return value.then(
      () => [[label, value] as const],
      () => [],
    )
  })
  return Object.fromEntries((await Promise.all(entries)).flat())
}
