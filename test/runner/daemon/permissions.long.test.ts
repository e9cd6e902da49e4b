import fs, { copyFileSync, mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { groupOf, readablePaths } from '../../../src/runner/daemon/sandbox.ts'
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

  /** A collector that tells the length of each file that it could read. */
  const reader = (files: readonly string[], before = '') => `${before}
import { readFileSync } from 'node:fs'
import { defineCollector, path, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ given: path.optional() }), metrics: { Done: {} }, history: true,
  collect({ log }) {
    for (const file of ${JSON.stringify(files)}) try { log.warn(file + ' ' + readFileSync(file).length) } catch {}
    return { Done: 1 }
  },
})`

  it('is led out of a package, a linked package and a declared folder by no link', async () => {
    const { file } = operatorFolder({
      'keys/mail': 'hidden',
      'node_modules/plain/package.json': '{ "name": "plain", "type": "module", "exports": "./index.js" }',
      'node_modules/plain/index.js': 'export default 1',
      'linked-from/lib/package.json':
        '{ "name": "linked", "type": "module", "exports": "./dist/a.js", "files": ["dist", "!dist/b.js"] }',
      'linked-from/lib/dist/a.js': "import dep from 'dep'; export default dep",
      'linked-from/lib/dist/b.js': '',
      'linked-from/lib/secrets/pem': 'hidden',
      'linked-from/lib/node_modules/dep/package.json': '{ "name": "dep", "main": "main" }',
      'linked-from/lib/node_modules/dep/main.js': 'module.exports = 5',
      'tables/new/a.csv': 'four',
    })
    symlinkSync(file('keys'), file('node_modules/plain/deep'))
    symlinkSync('../linked-from/lib', file('node_modules/linked'))
    symlinkSync(file('linked-from/lib/secrets'), file('linked-from/lib/dist/more'))
    symlinkSync('new', file('tables/now'))
    symlinkSync('../keys/mail', file('tables/mail'))
    const wrong = ['node_modules/plain/deep/mail', 'node_modules/linked/secrets/pem', 'linked-from/lib/secrets/pem']
    const others = ['linked-from/lib/dist/b.js', 'linked-from/lib/dist/more/pem', 'tables/mail', 'tables/now/../mail']
    const text = reader(
      [...wrong, ...others, 'tables/new/a.csv'].map(file),
      "import a from 'linked'; import 'plain'; a.toFixed()",
    )
    mkdirSync(file('my'))
    writeFileSync(file('my/own.ts'), text)
    const { runner, lines } = testRunner({ hidden: [file('mine.yaml'), file('keys')] })
    const own = configured('./my/own.ts', { file: file('mine.yaml'), options: { given: 'tables' } })
    expect(await runner.collect(own, hour)).toMatchObject({ readings: { Done: 1 }, failures: {} })
    expect(lines.map(({ message }) => message)).toEqual([`${file('tables/new/a.csv')} 4`])
  })

  it.for(['/proc', '/sys/class', '/dev/fd', '/proc/self/environ'])('is refused the declared path %s', async given => {
    const { file } = operatorFolder({ 'my/own.ts': reader([]) })
    const own = configured('./my/own.ts', { file: file('mine.yaml'), options: { given } })
    expect(await testRunner().runner.describe(own)).toMatchObject({
      mistakes: [{ path: ['given'], message: expect.stringContaining('/proc, /sys or /dev') }],
    })
  })

  it('is given a file about the machine that its options declare', async () => {
    const { file } = operatorFolder({ 'my/own.ts': reader(['/proc/loadavg', '/proc/self/status']) })
    const { runner, lines } = testRunner()
    await runner.collect(
      configured('./my/own.ts', { file: file('mine.yaml'), options: { given: '/proc/loadavg' } }),
      hour,
    )
    expect(lines.map(({ message }) => message.split(' ')[0])).toEqual(['/proc/loadavg'])
  })

  /** The layout in which Kubernetes mounts a ConfigMap: all files are links to `..data`, which is a link itself. */
  const mounted = (folder: string, version: string, files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, version), { recursive: true })
      writeFileSync(join(folder, version, name), text)
    }
    symlinkSync(version, join(folder, '..next'))
    renameSync(join(folder, '..next'), join(folder, '..data'))
  }

  it('loads a file of a ConfigMap, also after that was replaced, and not the configuration next to it', async () => {
    const { folder } = operatorFolder()
    const config = join(folder, 'etc')
    const text = `import { level } from './level.ts'\n${reader([join(config, '..data/t.yaml')]).replace('Done: 1', 'Done: level')}`
    const files = (level: number) => ({
      't.yaml': 'x',
      'mine.ts': text,
      'level.ts': `export const level = ${level}`,
    })
    mounted(config, '..2026_a', files(3))
    for (const name of Object.keys(files(0))) symlinkSync(`..data/${name}`, join(config, name))
    const { runner, lines } = testRunner({ hidden: [join(config, 't.yaml')] })
    const own = configured('./mine.ts', { file: join(config, 't.yaml') })
    expect(await runner.collect(own, hour)).toMatchObject({ readings: { Done: 3 } })
    mounted(config, '..2026_b', files(4))
    expect(await runner.collect(own, hour)).toMatchObject({ readings: { Done: 4 } })
    expect(lines).toEqual([])
  })

  it('loads no file that a link leads to elsewhere, and names the link', async () => {
    const { file } = operatorFolder({ 'a/t.yaml': '', 'b/own.ts': reader([]) })
    symlinkSync('../b/own.ts', file('a/own.ts'))
    symlinkSync('../b/lost.ts', file('a/lost.ts'))
    const messageOf = async (use: string) =>
      (await faultOf(testRunner().runner.collect(configured(use, { file: file('a/t.yaml') }), hour))).message
    expect(await messageOf('./own.ts')).toContain(`is a link to ${realpathSync(file('b/own.ts'))}, which is outside`)
    expect(await messageOf('./lost.ts')).toContain('is a link to ../b/lost.ts, and there is no such file')
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

  it('has the time for each address that a slow connection needs, and the authorities of the daemon', async () => {
    const { file } = operatorFolder()
    const text = `import { getDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { AttemptMs: {}, Absolute: {} },
  history: true,
  collect: () => ({
    AttemptMs: getDefaultAutoSelectFamilyAttemptTimeout(),
    Absolute: process.env.NODE_EXTRA_CA_CERTS === ${JSON.stringify(resolve('own/ca.pem'))} ? 1 : 0,
  }),
})`
    writeFileSync(file('own.ts'), text)
    const { runner } = testRunner({ hidden: [file('mine.yaml')] })
    // A child works in the folder of the configuration.
    vi.stubEnv('NODE_EXTRA_CA_CERTS', 'own/ca.pem')
    const { readings } = await runner.collect(configured('./own.ts', { file: file('mine.yaml') }), hour)
    expect(readings['AttemptMs']).toBeGreaterThanOrEqual(2_500)
    expect(readings['Absolute']).toBe(1)
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
    const paths = await readablePaths({ ...group, hiddenRoots: hidden, configFolders: [] })
    return paths.reads
      .filter(path => path.startsWith(folder))
      .map(path => path.slice(folder.length))
      .sort()
  }

  it('is its whole folder where nothing in it is hidden', async () => {
    const { folder, file } = operatorFolder({ 'sub/own.ts': '', 'sub/abi/a.json': '' })
    const group = groupOf({ use: './sub/own.ts', configFile: file('mine.yaml') }, [])
    const { reads } = await readablePaths({ ...group, hiddenRoots: [file('mine.yaml')], configFolders: [] })
    expect(reads.filter(path => path.startsWith(folder))).toEqual([file('sub')])
  })

  it('is, next to a configuration, its file and what that imports', async () => {
    const imports =
      "import './lib/a.ts'; import n from './near.json'; import './.env'; import './link.ts'; import '../up.ts'"
    const { folder, file } = operatorFolder({
      'own.ts': imports,
      'near.json': '{}',
      'lib/a.ts': "import './b.ts'; readFileSync('./key.pem')",
      'lib/b.ts': '',
      'lib/c.ts': '',
      'key.pem': '',
      'lib/key.pem': '',
    })
    symlinkSync(fileURLToPath(import.meta.url), file('link.ts'))
    expect(await readable([file('mine.yaml')], folder)).toEqual(['/lib/a.ts', '/lib/b.ts', '/near.json', '/own.ts'])
  })

  it('leaves out what is hidden, what begins with a dot, and links that lead elsewhere', async () => {
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
    const group = groupOf({ use: join(folder, 'own.ts'), configFile: '/elsewhere/t.yaml' }, [])
    const { reads } = await readablePaths({
      ...group,
      hiddenRoots: [file('mine.yaml'), file('keys/key')],
      configFolders: [],
    })
    const own = reads.filter(path => path.startsWith(folder)).map(path => path.slice(folder.length))
    expect(own.sort()).toEqual(['/b.ts', '/keys/readme.md', '/lib/a.ts', '/lib/table.yaml', '/other.yml', '/own.ts'])
  })

  it('leaves out every YAML file next to an included file, wherever that lies', async () => {
    const files = { 'x/own.ts': '', 'p/c.csv': '', 'p/a.yaml': '', 'p/old.yaml': '', 'p/lib/table.yaml': '' }
    const { folder, file } = operatorFolder(files)
    const group = groupOf({ use: './x/own.ts', configFile: file('mine.yaml') }, [file('p')])
    const configuration = { hiddenRoots: [file('mine.yaml'), file('p/a.yaml')], configFolders: [folder, file('p')] }
    const { reads } = await readablePaths({ ...group, ...configuration })
    const expected = [file('p/c.csv'), file('p/lib'), file('x')]
    expect(reads.filter(path => path.startsWith(folder)).sort()).toEqual(expected)
  })

  it('is, of a declared folder, what is not hidden', async () => {
    const { folder, file } = operatorFolder({ 'my/x.ts': '', 'data/outbox.db': '', 'data/table.csv': '' })
    const group = groupOf({ use: './my/x.ts', configFile: file('mine.yaml') }, [file('data')])
    const { reads } = await readablePaths({ ...group, hiddenRoots: [file('data/outbox.db')], configFolders: [] })
    expect(reads.filter(path => path.startsWith(folder)).sort()).toEqual([file('data/table.csv'), file('my')])
  })

  it('is found by one walk of the packages for all processes that start together', async () => {
    const { folder, file } = operatorFolder({ 'one/own.ts': '', 'two/own.ts': '', 'three/own.ts': '' })
    for (const name of ['a', 'b', 'c/node_modules/d']) mkdirSync(file(`node_modules/${name}/lib`), { recursive: true })
    const opened: string[] = []
    const { opendir } = fs.promises
    const spied = vi.spyOn(fs.promises, 'opendir').mockImplementation(async path => {
      opened.push(String(path))
      return opendir(path)
    })
    syncBuiltinESMExports()
    onTestFinished(() => {
      spied.mockRestore()
      syncBuiltinESMExports()
    })
    const underWay = new Map()
    const found = await Promise.all(
      ['one', 'two', 'three'].map(name => {
        const group = groupOf({ use: `./${name}/own.ts`, configFile: file('mine.yaml') }, [])
        return readablePaths({ ...group, hiddenRoots: [], configFolders: [] }, underWay)
      }),
    )
    expect(found.map(({ reads }) => reads.includes(file('node_modules')))).toEqual([true, true, true])
    const packages = opened.filter(path => path.startsWith(join(folder, 'node_modules')))
    expect(packages).toHaveLength(new Set(packages).size)
    expect(packages).toHaveLength(9)
    expect(underWay.size).toBe(0)
  })
})
