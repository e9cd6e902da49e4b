import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { collectorContract, record, replay } from 'tidegauge/testing'

const run = {
  use: './index.js',
  configFile: new URL('./tidegauge.yaml', import.meta.url),
  options: { chain: 'local', token: '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0' },
}

// The tests run on a recording, offline. To make it again from a chain, write tidegauge.yaml with that chain here, run
// RECORD=2026-11-20T13:00:00Z npm test, and correct the value below.
const file = new URL('./index.recording.json', import.meta.url)
const { RECORD: hour } = process.env
if (hour) {
  test('the recording is made again', async () => {
    writeFileSync(file, `${JSON.stringify(await record({ ...run, hour }), null, 2)}\n`)
  })
} else {
  const recording = JSON.parse(readFileSync(file, 'utf8'))

  test('the supply in whole tokens', async () => {
    assert.deepEqual(await replay({ ...run, recording }), { Supply: 6_163_171.09800285 })
  })

  collectorContract('PACKAGE', { ...run, recording })
}
