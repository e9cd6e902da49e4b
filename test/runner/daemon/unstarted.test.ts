import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

const spawning = new URL('../../../src/runner/daemon/child-spawn.ts', import.meta.url).href

/** Starts a process with each small number of descriptors left, and prints what happened to each. */
const script = `import { closeSync, openSync } from 'node:fs'
const { spawnChild } = await import(${JSON.stringify(spawning)})
const deps = { reads: [], mayUseSqlite: false, folder: '/', readsChains: false, heapMbMax: 64 }
const fate = async () => {
  const spawned = spawnChild(deps)
  spawned.listen({ log() {}, hear() {}, tooLong() {} })
  spawned.post({ kind: 'chains', names: [] })
  spawned.kill()
  const { how, fix = '' } = await spawned.exited
  return how + ' -> ' + fix
}
await fate()
const open = []
try { for (;;) open.push(openSync('/dev/null')) } catch {}
const fates = []
for (let left = 0; left < 16; left += 1) {
  fates.push(await fate())
  closeSync(open.pop())
}
for (const one of open) closeSync(one)
fates.push(await fate())
console.log(JSON.stringify(fates))`

it.skipIf(process.platform !== 'linux')(
  'a process without descriptors is not started, says so, and harms nothing',
  async () => {
    const limited = ['-c', 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"', process.execPath, script]
    const { stdout } = await promisify(execFile)('/bin/sh', limited)
    const fates: string[] = JSON.parse(stdout)
    const unstarted =
      'could not be started: Tidegauge has too many files open, EMFILE -> raise its limit (ulimit -n, LimitNOFILE of the service)'
    expect(fates[0]).toBe(unstarted)
    expect(fates.filter(one => one !== unstarted && !one.startsWith('ended with SIGKILL'))).toEqual([])
    expect(fates.at(-1)).toContain('ended with SIGKILL')
  },
)

it('a program that cannot be run is a fault that says why', async () => {
  const { execPath } = process
  onTestFinished(() => {
    process.execPath = execPath
  })
  process.execPath = '/nowhere/node'
  const fault = await faultOf(testRunner().runner.collect(configured('./good.ts'), hour))
  expect(fault).toMatchObject({
    code: 'collector-hung',
    message: expect.stringContaining('could not be started: spawn /nowhere/node ENOENT'),
    fix: 'check that /nowhere/node can be run',
  })
})
