import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { groupOf } from '../../../src/runner/daemon/processes.ts'
import { readablePaths } from '../../../src/runner/daemon/readable.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

const hostile = fileURLToPath(new URL('../fixtures/hostile.ts', import.meta.url))

/** A folder of an operator: the collector lies next to the configuration, as in the tutorial. */
function operatorFolder(files: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder()
  const file = (name: string) => join(folder, name)
  for (const [name, text] of Object.entries({ 'mine.yaml': 'service: embedded', ...files })) {
    mkdirSync(dirname(file(name)), { recursive: true })
    writeFileSync(file(name), text)
  }
  return { folder, file }
}

describe("a collector's process", () => {
  it('reads nothing that is hidden, writes nothing, signals no process and starts nothing', async () => {
    const { folder, file } = operatorFolder({
      'keys/key.json': '"hidden"',
      'data/outbox.db': '',
      'tables/a.csv': 'four',
    })
    copyFileSync(hostile, file('hostile.ts'))
    symlinkSync(file('keys/key.json'), file('link-to-secret'))
    const { runner, lines } = testRunner({ hidden: [file('mine.yaml'), file('keys/key.json'), file('data')] })
    const targets = ['mine.yaml', 'keys/key.json', 'data/outbox.db'].map(file)
    for (const target of targets) {
      const own = configured('./hostile.ts', { file: file('mine.yaml'), options: { target } })
      expect((await runner.collect(own, hour)).readings).toEqual({ Done: 0, Table: 0 })
    }
    // With a declared path it has a process of its own, as the shipped collectors that open databases.
    const options = { target: file('data/outbox.db'), table: 'tables/a.csv' }
    const own = configured('./hostile.ts', { file: file('mine.yaml'), options })
    expect((await runner.collect(own, hour)).readings).toEqual({ Done: 0, Table: 4 })
    expect(lines.map(({ message }) => message)).toEqual([])
    expect(folder).not.toBe('')
  })

  it('reads what its options declare, from the configuration on, and its own folder', async () => {
    const { file } = operatorFolder({ 'tables/a.csv': 'four', 'my/near.json': '{ "size": 2 }' })
    const text = `import { readFileSync } from 'node:fs'
import { defineCollector, path, z } from 'tidegauge'
import near from './near.json' with { type: 'json' }
export default defineCollector({
  options: z.strictObject({ table: path }),
  metrics: { Size: {}, Near: {}, Absolute: {} },
  history: true,
  async collect({ options: { table } }) {
    return { Size: readFileSync(table).length, Near: near.size, Absolute: table.startsWith('/') ? 1 : 0 }
  },
})`
    writeFileSync(file('my/own.ts'), text)
    const { runner } = testRunner({ hidden: [file('mine.yaml')] })
    const own = configured('./my/own.ts', { file: file('mine.yaml'), options: { table: 'tables/a.csv' } })
    expect((await runner.collect(own, hour)).readings).toEqual({ Size: 4, Near: 2, Absolute: 1 })
  })

  it('is refused a declared path that is hidden, at its place', async () => {
    const { file } = operatorFolder({ 'keys/key.json': '"hidden"' })
    copyFileSync(hostile, file('hostile.ts'))
    const { runner } = testRunner({ hidden: [file('keys')] })
    const options = { target: '', table: './keys/key.json' }
    const own = configured('./hostile.ts', { file: file('mine.yaml'), options })
    const message = 'leads to a path that no collector may read: the configuration, a file of a secret, or the data'
    expect(await runner.describe(own)).toEqual({ kind: 'mistaken', mistakes: [{ path: ['table'], message }] })
    expect((await faultOf(runner.collect(own, hour))).message).toContain('may not be read by a collector')
  })

  it('has the time for each address that a slow connection needs', async () => {
    const { file } = operatorFolder()
    const text = `import { getDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { AttemptMs: {} },
  history: true,
  collect: () => ({ AttemptMs: getDefaultAutoSelectFamilyAttemptTimeout() }),
})`
    writeFileSync(file('own.ts'), text)
    const { runner } = testRunner({ hidden: [file('mine.yaml')] })
    const { readings } = await runner.collect(configured('./own.ts', { file: file('mine.yaml') }), hour)
    expect(readings['AttemptMs']).toBeGreaterThanOrEqual(2_500)
  })

  it('is given no path that its code alone asks for', async () => {
    const { file } = operatorFolder({ 'secret.txt': 'x', 'my/own.ts': '' })
    const text = `import { readFileSync } from 'node:fs'
import { defineCollector, path, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ table: path.prefault('./secret.txt') }),
  metrics: { Size: {} },
  history: true,
  collect: ({ options: { table } }) => ({ Size: readFileSync(table).length }),
})`
    writeFileSync(file('my/own.ts'), text)
    const own = configured('./my/own.ts', { file: file('mine.yaml') })
    const { message, fix } = await faultOf(testRunner().runner.collect(own, hour))
    expect(message).toContain('may not be read')
    expect(fix).toContain('path')
  })

  it('is shared with no code of another file', async () => {
    const { file } = operatorFolder()
    const text = (value: string) => `import { defineCollector, z } from 'tidegauge'
globalThis.fetch = () => 666
export default defineCollector({
  options: z.strictObject({}), metrics: { Process: {}, Touched: {} }, history: true,
  collect: () => ({ Process: process.pid, Touched: ${value} }),
})`
    writeFileSync(file('a.ts'), text('1'))
    writeFileSync(
      file('b.ts'),
      text('0').replace('globalThis.fetch = () => 666', '').replace('Touched: 0', 'Touched: fetch.length'),
    )
    const { runner } = testRunner()
    const [a, b, again] = await Promise.all(
      ['./a.ts', './b.ts', './a.ts'].map(async (use, index) => {
        const own = configured(use, { id: String(index), file: file('mine.yaml') })
        return (await runner.collect(own, hour)).readings
      }),
    )
    expect(a?.['Process']).not.toBe(b?.['Process'])
    expect(a?.['Process']).toBe(again?.['Process'])
    expect(b?.['Touched']).toBe(1)
  })

  it('makes place for another one when it has nothing to do', async () => {
    const { runner } = testRunner({ limits: { sharedMax: 1 } })
    const uses = ['./good.ts', './tells-process.ts', './patient.ts']
    const outcomes = await Promise.all(uses.map(use => runner.collect(configured(use), hour)))
    expect(outcomes.map(({ failures }) => failures)).toEqual([{}, {}, {}])
  })
})

describe('what a process may read', () => {
  const readable = async (hidden: readonly string[], folder: string, declared: readonly string[] = []) => {
    const group = groupOf({ use: './own.ts', configFile: join(folder, 'mine.yaml') }, declared)
    const paths = await readablePaths({ ...group, hidden, configFolders: [] })
    return paths
      .filter(path => path.startsWith(folder))
      .map(path => path.slice(folder.length))
      .sort()
  }

  it('is its whole folder where nothing in it is hidden', async () => {
    const { folder, file } = operatorFolder({ 'sub/own.ts': '', 'sub/abi/a.json': '' })
    const group = groupOf({ use: './sub/own.ts', configFile: file('mine.yaml') }, [])
    const paths = await readablePaths({ ...group, hidden: [file('mine.yaml')], configFolders: [] })
    expect(paths.filter(path => path.startsWith(folder))).toEqual([file('sub')])
  })

  it('leaves out what is hidden, other configurations, what begins with a dot, and links that lead elsewhere', async () => {
    const { folder, file } = operatorFolder({
      'own.ts': '',
      'lib/a.ts': '',
      'other.yml': '',
      '.env': '',
      'keys/key': '',
      'keys/readme.md': '',
      'lib/table.yaml': '',
    })
    symlinkSync('/etc', file('lib/etc'))
    symlinkSync(file('keys/key'), file('lib/key'))
    symlinkSync(file('lib/a.ts'), file('b.ts'))
    expect(await readable([file('mine.yaml'), file('keys/key')], folder)).toEqual([
      '/b.ts',
      '/keys/readme.md',
      '/lib/a.ts',
      '/lib/table.yaml',
      '/own.ts',
    ])
  })

  it('leaves out every YAML file next to an included file, wherever that lies', async () => {
    const files = { 'p/own.ts': '', 'p/a.yaml': '', 'p/old.yaml': '', 'p/lib/table.yaml': '', 'p/lib/b.ts': '' }
    const { folder, file } = operatorFolder(files)
    const group = groupOf({ use: './p/own.ts', configFile: file('mine.yaml') }, [])
    const configuration = { hidden: [file('mine.yaml'), file('p/a.yaml')], configFolders: [folder, file('p')] }
    const paths = await readablePaths({ ...group, ...configuration })
    expect(paths.filter(path => path.startsWith(folder)).sort()).toEqual([file('p/lib'), file('p/own.ts')])
  })

  it('is, of a declared folder, what is not hidden', async () => {
    const { folder, file } = operatorFolder({ 'my/x.ts': '', 'data/outbox.db': '', 'data/table.csv': '' })
    const group = groupOf({ use: './my/x.ts', configFile: file('mine.yaml') }, [file('data')])
    const paths = await readablePaths({ ...group, hidden: [file('data/outbox.db')], configFolders: [] })
    expect(paths.filter(path => path.startsWith(folder)).sort()).toEqual([file('data/table.csv'), file('my')])
  })
})
