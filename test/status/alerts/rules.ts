import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'

export const rulesFile = fileURLToPath(new URL('../../../config/prometheus/alerts.yaml', import.meta.url))

const rule = z.object({
  alert: z.string(),
  expr: z.string(),
  for: z.string(),
  labels: z.object({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.object({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
})
const rules = z.object({ groups: z.tuple([z.object({ name: z.string(), rules: z.array(rule) })]) })

/** The alerts of the shipped rules, in their order. */
export const alerts = rules.parse(parse(readFileSync(rulesFile, 'utf8'))).groups[0].rules
