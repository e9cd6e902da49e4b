import { type DeclaredMetric, z } from 'tidegauge'

const jump = 'must be a positive number in the metric’s unit, or a part of the last value like "20%"'

/** Options of every value: the fields of its metric, as a collector in code declares them. */
export const declared = {
  unit: z.string().optional().describe('unit of the value, such as USD'),
  module: z.string().optional().describe('module at the service; protocol, where nothing is written'),
  min: z.number().optional().describe('a value below is held for a person to look at'),
  max: z.number().optional().describe('a value above is held for a person to look at'),
  maxJump: z
    .union([z.number().positive(), z.templateLiteral([z.number().positive(), '%'])], { error: jump })
    .optional()
    .describe('a larger change since the last value is held for a person to look at'),
}

/** The declaration among a value's options. */
export function declaration({ unit, module, min, max, maxJump }: DeclaredMetric): DeclaredMetric {
  return { unit, module, min, max, maxJump }
}
