import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { collectorContract, record, replay } from 'tidegauge/testing'

const run = {
  use: './collectors/supply.ts',
  configFile: new URL('../tidegauge.yaml', import.meta.url),
  options: { chain: 'local', token: '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0' },
}

// The tests run on a recording, offline. To make it again from the chain of the configuration, and then correct the
// value below: RECORD=2026-11-20T13:00:00Z npm test -- collectors/supply.test.ts
const file = new URL('./supply.recording.json', import.meta.url)
const { RECORD: hour } = process.env
if (hour) {
  test('the recording is made again', async () => {
    writeFileSync(file, `${JSON.stringify(await record({ ...run, hour }), null, 2)}\n`)
  })
} else {
  const recording: unknown = JSON.parse(readFileSync(file, 'utf8'))

  test('the supply in whole tokens', async () => {
    assert.deepEqual(await replay({ ...run, recording }), { Supply: 6_163_171.09800285 })
  })

  collectorContract('supply', { ...run, recording })
}
