import { z } from 'zod'
import type { Collector } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import type { MetricSpec } from '../../model/metric.ts'
import { plainWords } from './thrown/plain-words.ts'
import { shown, thrownText } from './thrown/thrown.ts'

/** Mistakes in a default export that should be a collector; empty when it is one. */
export function mistakesOfShape(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [`its default export is ${shown(value)}`]
  const part = (name: string): unknown => Reflect.get(value, name)
  const mistakes: string[] = []
  if (!isSchema(part('options'))) mistakes.push('options must be a zod schema')
  const metrics = part('metrics')
  if (typeof metrics !== 'function' && (typeof metrics !== 'object' || metrics === null)) {
    mistakes.push('metrics must be an object of labels, or a function of the options')
  }
  if (typeof part('history') !== 'boolean' && typeof part('history') !== 'function') {
    mistakes.push('history must be true or false')
  }
  if (typeof part('collect') !== 'function') mistakes.push('collect must be a function')
  return mistakes
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'safeParseAsync' in value
}

const number = z.number({ error: 'must be a finite number' }).optional()
const text = z.string({ error: 'must be text' }).optional()
const jumpWrong = "must be a positive number in the metric's unit, or a part of the last value like '20%'"
const maxJump = z
  .union([z.number(), z.templateLiteral([z.number(), '%'])], { error: jumpWrong })
  .refine(jump => Number.parseFloat(String(jump)) > 0, { error: jumpWrong })
  .optional()
const metricSpec = z.strictObject({ unit: text, module: text, min: number, max: number, maxJump })

/**
 * The labels a collector declares for its options, validated.
 *
 * @throws Fault `collector-unusable` when there is none, a label cannot be part of a metric id, or a spec is wrong
 */
export function declaredMetrics(definition: Collector, options: unknown, name: string): Record<string, MetricSpec> {
  const declared = evaluate(definition, options, name)
  const entries = typeof declared === 'object' && declared !== null ? Object.entries(declared) : []
  if (entries.length === 0) throw unusable(name, 'its metrics declare no label')
  return Object.fromEntries(entries.map(([label, spec]) => [label, checkedSpec(label, spec, name)]))
}

/**
 * Whether a collector can be asked for a past hour with these options.
 *
 * @throws Fault `collector-unusable` when it does not say
 */
export function readsPast({ history }: Collector, options: unknown, name: string): boolean {
  const fix = 'give history as true or false, or as a function of the options that returns one of them'
  try {
    const answer: unknown = typeof history === 'function' ? history(options) : history
    if (typeof answer === 'boolean') return answer
    throw new Fault('collector-unusable', `collector ${name}: its history(options) gave ${shown(answer)}`, { fix })
  } catch (error) {
    if (error instanceof Fault) throw error
    const { message } = thrownText(error)
    throw new Fault('collector-unusable', `collector ${name}: its history(options) threw: ${message}`, { fix })
  }
}

function evaluate({ metrics }: Collector, options: unknown, name: string): unknown {
  try {
    return typeof metrics === 'function' ? metrics(options) : metrics
  } catch (error) {
    throw unusable(name, `its metrics(options) threw: ${thrownText(error).message}`)
  }
}

function checkedSpec(label: string, spec: unknown, name: string): MetricSpec {
  if (!/^[A-Za-z0-9._-]+$/.test(label)) {
    throw unusable(name, `label ${shown(label)} has a character that is no letter, digit, "-", "_" or "."`)
  }
  if (label.includes('___')) throw unusable(name, `label "${label}" holds ___, which separates an id from a label`)
  const parsed = metricSpec.safeParse(spec, { error: plainWords })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw unusable(name, `label "${label}": ${issue?.path.join('.') || 'its spec'}: ${issue?.message}`)
  }
  const { unit, module, min, max, maxJump } = parsed.data
  if (min !== undefined && max !== undefined && min > max) {
    throw unusable(name, `label "${label}": min ${min} is more than max ${max}: every value would be held`)
  }
  return {
    ...(unit === undefined ? {} : { unit }),
    ...(module === undefined ? {} : { module }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(maxJump === undefined ? {} : { maxJump }),
  }
}

function unusable(name: string, what: string): Fault {
  return new Fault('collector-unusable', `collector ${name}: ${what}`, {
    fix: 'declare labels like metrics: { TVL: { unit: "USDC", min: 0 } }',
  })
}
