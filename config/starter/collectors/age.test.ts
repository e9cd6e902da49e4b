import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectorContract, type Recording, replay } from 'tidegauge/testing'

const run = {
  use: './collectors/age.ts',
  configFile: new URL('../tidegauge.yaml', import.meta.url),
  options: { launch: '2026-01-01T00:00:00Z' },
}

/** It reads nothing. */
const recording: Recording = { recording: 1, hour: '2026-01-11T12:00:00Z', chains: {}, reads: [], prices: {}, http: [] }

test('the age in days', async () => {
  assert.deepEqual(await replay({ ...run, recording }), { Age: 10.5 })
})

collectorContract('age', { ...run, recording })
