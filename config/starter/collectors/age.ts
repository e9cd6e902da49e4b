import { defineCollector, z } from 'tidegauge'

const dayMs = 24 * 3_600_000

/** Days since the launch. A collector that reads nothing: a beginning that works without a chain and without a network. */
export default defineCollector({
  options: z.strictObject({ launch: z.iso.datetime().describe('instant of the launch: 2026-01-01T00:00:00Z') }),
  metrics: { Age: { unit: 'days', min: 0 } },
  history: true,
  collect: ({ options, hour }) => ({ Age: (hour - Date.parse(options.launch)) / dayMs }),
})
