import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

const name = 'tidegauge-collector-tides'
const collector = (value: string, imports = '') => `import { defineCollector, z } from 'tidegauge'
${imports}
export default defineCollector({
  options: z.strictObject({ depth: z.number().optional() }), metrics: { Level: {} }, history: true,
  collect: () => ({ Level: ${value} }),
})`
const manifest = (more: object = {}, own = name) =>
  JSON.stringify({ name: own, version: '1.2.0', type: 'module', exports: './index.js', ...more })

/** A configuration's folder with packages. @param files by their paths in `node_modules` */
function installed(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'node_modules', path)), { recursive: true })
    writeFileSync(join(folder, 'node_modules', path), text)
  }
  return { folder, file: join(folder, 'tidegauge.yaml') }
}

async function levelOf(files: Readonly<Record<string, string>>, use = name): Promise<unknown> {
  const { file } = installed(files)
  const { readings, failures } = await testRunner().runner.collect(configured(use, { file }), hour)
  expect(failures).toEqual({})
  return readings['Level']
}

describe('a collector of a package', () => {
  it.each<[string, string, Readonly<Record<string, string>>]>([
    ['by its name', name, { [`${name}/package.json`]: manifest(), [`${name}/index.js`]: collector('7') }],
    [
      'with a scope, its dependencies and theirs',
      `@org/${name}`,
      {
        [`@org/${name}/package.json`]: manifest({ dependencies: { one: '1' } }, `@org/${name}`),
        [`@org/${name}/index.js`]: collector('one', "import one from 'one'"),
        'one/package.json': manifest({ dependencies: { two: '1' } }, 'one'),
        'one/index.js': "export { default } from 'two'",
        [`one/node_modules/two/package.json`]: manifest({}, 'two'),
        [`one/node_modules/two/index.js`]: 'export default 7',
      },
    ],
    [
      'as CommonJS',
      name,
      {
        [`${name}/package.json`]: manifest({ type: 'commonjs' }),
        [`${name}/index.js`]: collector('7')
          .replace(/^import (.*) from (.*)/, 'const $1 = require($2)')
          .replace('export default', 'module.exports ='),
      },
    ],
    [
      'as CommonJS that a compiler made',
      name,
      {
        [`${name}/package.json`]: manifest({ type: 'commonjs', peerDependencies: { tidegauge: '>=0.0.1' } }),
        [`${name}/index.js`]: collector('7')
          .replace(
            /^import (.*) from (.*)/,
            'Object.defineProperty(exports, "__esModule", { value: true })\nconst $1 = require($2)',
          )
          .replace('export default', 'exports.default ='),
      },
    ],
    [
      'of one’s own file, next to another tidegauge, which is not the one that runs',
      './own.js',
      {
        '../package.json': '{ "type": "module" }',
        '../own.js': `export { default } from '${name}'`,
        [`${name}/package.json`]: manifest({ peerDependencies: { tidegauge: '*' } }),
        [`${name}/index.js`]: collector('7'),
        'tidegauge/package.json': manifest({}, 'tidegauge'),
        'tidegauge/index.js': 'throw new Error("another instance")',
      },
    ],
  ])('runs: %s', async (_, use, files) => {
    expect(await levelOf(files, use)).toBe(7)
  })

  it('gives advice as its own words, and that of the daemon as it is', async () => {
    const text = readFileSync(new URL('../fixtures/forges.ts', import.meta.url), 'utf8').replaceAll(': unknown', '')
    const { file } = installed({ [`${name}/package.json`]: manifest(), [`${name}/index.js`]: text })
    const { failures } = await testRunner().runner.collect(configured(name, { file }), hour)
    expect(failures).toMatchObject({
      Replied: { code: 'price-unknown', fix: expect.stringMatching(/^(?!its process says)/) },
      Forged: { code: 'collector-threw', fix: 'its process says: run tidegauge run --config /tmp/x' },
    })
  })

  it('runs where packages are links to a store, as pnpm makes them', async () => {
    const store = '.pnpm/tides@1/node_modules'
    const { folder, file } = installed({
      [`${store}/${name}/package.json`]: manifest({ dependencies: { one: '1' } }),
      [`${store}/${name}/index.js`]: collector('one', "import one from 'one'"),
      '.pnpm/one@1/node_modules/one/package.json': manifest({}, 'one'),
      '.pnpm/one@1/node_modules/one/index.js': 'export default 7',
    })
    symlinkSync(`${store}/${name}`, join(folder, 'node_modules', name))
    symlinkSync('../../one@1/node_modules/one', join(folder, 'node_modules', store, 'one'))
    expect((await testRunner().runner.collect(configured(name, { file }), hour)).readings).toEqual({ Level: 7 })
  })

  it.each([name, '@org/node_modules'])(
    'reads its own folder and those of its dependencies, and nothing else: %s',
    async name => {
      const up = name.startsWith('@') ? '../' : ''
      const readable = ['read-me.txt', `${up}../one/data.txt`]
      const others = ['../other/data.txt', '../../secret.txt', '../.package-lock.json'].map(path => up + path)
      const lengths = `[${[...readable, ...others].map(path => `'${path}'`)}].filter(path => {
      try { return readFileSync(new URL(path, import.meta.url)).length } catch { return false }
    })`
      const { folder, file } = installed({
        [`${name}/package.json`]: manifest({ dependencies: { one: '1' } }),
        [`${name}/index.js`]: collector('0', "import { readFileSync } from 'node:fs'").replace(
          'collect: () => (',
          `collect: ({ log }) => (log.warn(${lengths}.join()), `,
        ),
        [`${name}/read-me.txt`]: 'text',
        'one/package.json': manifest({}, 'one'),
        'one/data.txt': 'text',
        'other/package.json': manifest({}, 'other'),
        'other/data.txt': 'text',
        '.package-lock.json': '{}',
      })
      writeFileSync(join(folder, 'secret.txt'), 'text')
      // A link of its own leads nowhere: it would open the packages around its end.
      mkdirSync(join(folder, 'node_modules', name, 'node_modules'))
      symlinkSync(`${up}../../..`, join(folder, 'node_modules', name, 'node_modules', 'up'))
      const { runner, lines } = testRunner()
      expect((await runner.collect(configured(name, { file }), hour)).failures).toEqual({})
      expect(lines.map(({ message }) => message)).toEqual([readable.join()])
    },
  )

  it('says the mistakes in its options', async () => {
    const { file } = installed({ [`${name}/package.json`]: manifest(), [`${name}/index.js`]: collector('7') })
    expect(await testRunner().runner.describe(configured(name, { file, options: { dept: 1 } }))).toMatchObject({
      mistakes: [{ message: 'unknown option "dept"' }],
    })
  })

  it.each<[string, string, Readonly<Record<string, string>>, string, string]>([
    ['that is not installed', name, {}, `there is no collector "${name}"`, `npm install --ignore-scripts ${name}`],
    [
      'with a scope that is not installed',
      `@org/${name}`,
      {},
      `"@org/${name}"`,
      `npm install --ignore-scripts @org/${name}`,
    ],
    [
      'with a damaged package.json',
      name,
      { [`${name}/package.json`]: '{ "name": "ti', [`${name}/index.js`]: collector('7') },
      `${name}/package.json is no JSON`,
      'install the package again',
    ],
    [
      'without a default export',
      name,
      { [`${name}/package.json`]: manifest(), [`${name}/index.js`]: 'export const a = 1' },
      `${name} is not a collector: it has no default export`,
      'export default defineCollector',
    ],
    [
      'made for another version of this program',
      name,
      {
        [`${name}/package.json`]: manifest({ peerDependencies: { tidegauge: '^99.1.0' } }),
        [`${name}/index.js`]: collector('7'),
      },
      `${name} 1.2.0 is made for tidegauge ^99.1.0, and this is `,
      `npm install ${name}@latest`,
    ],
    [
      'in TypeScript',
      name,
      {
        [`${name}/package.json`]: manifest({ exports: './index.ts' }),
        [`${name}/index.ts`]: collector('7'),
      },
      `${name} cannot be loaded: `,
      'published as JavaScript',
    ],
    [
      'that imports what it does not depend on',
      name,
      {
        [`${name}/package.json`]: manifest(),
        [`${name}/index.js`]: collector('one', "import one from 'one'"),
        'one/package.json': manifest({}, 'one'),
        'one/index.js': 'export default 7',
      },
      `${name} cannot be loaded: `,
      'dependencies',
    ],
    [
      'whose dependencies are paths',
      name,
      {
        [`${name}/package.json`]: manifest({
          dependencies: { '../../node_modules': '1', '../one': '1', '@a/..': '1' },
          peerDependencies: { one: '1' },
        }),
        [`${name}/index.js`]: collector('one', "import one from 'one'"),
        'one/package.json': manifest({}, 'one'),
        'one/index.js': 'export default 7',
      },
      `${name} cannot be loaded: `,
      'dependencies',
    ],
  ])('is refused with what to do: one %s', async (_, use, files, message, fix) => {
    const { file } = installed(files)
    const fault = await faultOf(testRunner().runner.describe(configured(use, { file })))
    expect(fault).toMatchObject({ code: 'collector-unusable', fix: expect.stringContaining(fix) })
    expect(fault.message).toContain(message)
  })
})
