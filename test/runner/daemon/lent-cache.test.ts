import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { mayBeUnprivileged, unprivileged } from '../../support/unprivileged.ts'
import { configured, hour, testRunner } from '../setup.ts'

/** Makes Node write compiled code under any name, and looks for a way to write next to that. */
const poisoner = `import { mkdirSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ name: z.string(), link: z.string().optional() }),
  metrics: { Written: {} },
  history: true,
  collect({ options: { name } }) {
    const compiled = new module.Module(name)
    compiled._compile('globalThis.poisoned = true', name)
    module.flushCompileCache()
    const folder = module.getCompileCacheDir()
    let written = 0
    for (const make of [() => mkdirSync(folder, { recursive: true }), () => writeFileSync(folder, '')]) {
      try {
        make()
        written += 1
      } catch {}
    }
    return { Written: folder === undefined ? -1 : written }
  },
})`

/** The files of a folder, sorted, each with a digest of its content. */
function contents(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .map(file => `${file} ${hash('sha256', readFileSync(file))}`)
    .sort()
}

it('lends the compile cache to the start of a process, and to no collector', async () => {
  const cache = temporaryFolder()
  const folder = temporaryFolder()
  const temporary = temporaryFolder()
  vi.stubEnv('NODE_COMPILE_CACHE', cache)
  vi.stubEnv('TMPDIR', temporary)
  expect(tmpdir()).toBe(temporary)
  writeFileSync(join(folder, 'poisoner.mjs'), poisoner)
  writeFileSync(join(folder, 'idle.mjs'), poisoner.replace('module.flushCompileCache()', ''))
  const file = join(folder, 'mine.yaml')
  const options = { name: join(folder, 'poisoned.cjs') }

  await testRunner().runner.collect(configured('./idle.mjs', { file, options }), hour)
  const before = contents(cache)
  // The sources of the daemon that a process loads, and the schema library.
  expect(before.length).toBeGreaterThan(50)

  const { readings } = await testRunner().runner.collect(configured('./poisoner.mjs', { file, options }), hour)
  expect(readings).toEqual({ Written: 0 })
  expect(contents(cache)).toEqual(before)
  expect(readdirSync(temporary)).toEqual([])
})

it('starts a process without a compile cache where none is set', async () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined)
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'poisoner.mjs'), poisoner)
  const own = configured('./poisoner.mjs', {
    file: join(folder, 'mine.yaml'),
    options: { name: join(folder, 'x.cjs') },
  })
  expect((await testRunner().runner.collect(own, hour)).readings).toEqual({ Written: -1 })
})

it.runIf(mayBeUnprivileged())('gives a cache for good that the daemon’s user cannot write, as in the image', () => {
  const cache = temporaryFolder()
  const version = join(cache, 'v24')
  mkdirSync(version)
  const lent = () => {
    const module = new URL('../../../src/runner/daemon/lent-cache.ts', import.meta.url).href
    const print = `import { lendCompileCache } from '${module}'; console.log(lendCompileCache().env.NODE_COMPILE_CACHE)`
    const env = { ...process.env, NODE_COMPILE_CACHE: cache, NODE_DISABLE_COMPILE_CACHE: '1' }
    return execFileSync(process.execPath, ['--input-type=module', '--eval', print], { ...unprivileged, env })
      .toString()
      .trim()
  }
  chmodSync(cache, 0o755)
  expect(lent()).toBe(cache)
  chmodSync(version, 0o777)
  expect(lent()).not.toBe(cache)
})
