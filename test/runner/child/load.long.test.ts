import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { sampleOf } from '../../support/soak.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

const collectorText = (value: string, imports = '') => `import { defineCollector, z } from 'tidegauge'
${imports}
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Level: {} },
  history: true,
  collect: () => ({ Level: ${value} }),
})
`

const jumping = (maxJump: string) => collectorText('1').replace('Level: {}', `Level: { maxJump: ${maxJump} }`)

/** Files in a folder outside of the package, next to a configuration file. */
function outside(files: Readonly<Record<string, string>>): { readonly file: string; readonly folder: string } {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return { file: join(folder, 'tidegauge.yaml'), folder }
}

async function levelOf(use: string, file: string): Promise<unknown> {
  const { runner } = testRunner()
  return (await runner.collect(configured(use, { file }), hour)).readings['Level']
}

async function mistakeIn(files: Readonly<Record<string, string>>, use: string) {
  const { runner } = testRunner()
  const { file, folder } = outside(files)
  const { code, message, facts, fix = '' } = await faultOf(runner.describe(configured(use, { file })))
  expect(code).toBe('collector-unusable')
  const plain = (text: string) => text.replaceAll(folder, '')
  return {
    message: plain(message),
    at: plain(String(facts['at'] ?? '')),
    looked: plain(String(facts['lookedIn'])),
    fix,
  }
}

describe('a collector is found', () => {
  it('by its name in collectors/', async () => {
    const { runner } = testRunner()
    expect(await runner.describe(configured('host'))).toMatchObject({ kind: 'usable', history: false })
  })

  it('by a path from the configuration file, in a folder that has no packages', async () => {
    const imports = `import { parseUnits } from 'viem'\nimport { z as own } from 'zod'`
    const { file, folder } = outside({
      'my/own.ts': collectorText('Number(parseUnits("1", own.number().parse(2)))', imports),
    })
    expect(await levelOf('./my/own.ts', file)).toBe(100)
    expect(await levelOf(join(folder, 'my/own.ts'), '/tidegauge.yaml')).toBe(100)
  })

  it('in TypeScript below a package.json of CommonJS, as npm init writes one', async () => {
    const { file } = outside({
      'package.json': '{ "type": "commonjs" }',
      'own.ts': collectorText('low', `import { low } from './low.ts'`),
      'low.ts': 'export const low: number = 5',
    })
    expect(await levelOf('./own.ts', file)).toBe(5)
  })

  it('as an npm package next to the configuration file', async () => {
    const { file } = outside({
      'node_modules/@me/gauge/package.json': '{ "type": "module", "exports": "./gauge.js" }',
      'node_modules/@me/gauge/gauge.js': collectorText('7'),
    })
    expect(await levelOf('@me/gauge', file)).toBe(7)
  })

  it('with all that it declares', async () => {
    const declared = 'Level: { unit: "m", module: "tide", min: -1, max: 9, maxJump: "2.5%" }, Flow: { maxJump: 3 }'
    const { file } = outside({ 'own.ts': collectorText('1').replace('Level: {}', declared) })
    expect(await testRunner().runner.describe(configured('./own.ts', { file }))).toEqual({
      kind: 'usable',
      history: true,
      metrics: { Level: { unit: 'm', module: 'tide', min: -1, max: 9, maxJump: '2.5%' }, Flow: { maxJump: 3 } },
    })
  })

  it('as it is now, when its file was edited', async () => {
    const { runner } = testRunner()
    const { file, folder } = outside({ 'own.ts': collectorText('1') })
    const own = configured('./own.ts', { file })
    expect((await runner.collect(own, hour)).readings).toEqual({ Level: 1 })
    writeFileSync(join(folder, 'own.ts'), `// edited\n${collectorText('2')}`)
    expect((await runner.collect(own, hour)).readings).toEqual({ Level: 2 })
  })

  it('when a package it lacked has come since', async () => {
    const { runner } = testRunner()
    const { file, folder } = outside({ 'own.ts': collectorText('late', `import { late } from './late.ts'`) })
    const own = configured('./own.ts', { file })
    expect((await faultOf(runner.collect(own, hour))).code).toBe('collector-unusable')
    writeFileSync(join(folder, 'late.ts'), 'export const late = 3')
    expect((await runner.collect(own, hour)).readings).toEqual({ Level: 3 })
  })
})

describe('a collector that cannot be used says why:', () => {
  it('a name that is nearly one of the shipped', async () => {
    const { message, fix, looked } = await mistakeIn({}, 'hots')
    expect({ message, fix }).toEqual({ message: 'there is no collector "hots"', fix: 'did you mean host?' })
    expect(looked).toContain('collectors/ of tidegauge')
  })

  it('a name that is like none', async () => {
    expect((await mistakeIn({}, 'something-else')).fix).toContain('erc20-supply, erc4626-vault')
  })

  const strange = ['toString', '', 'a b', '%', '?', 'http://x', 'node:fs', '@x', 'x/../y']
  it.for(sampleOf(strange, 1))('a name that names nothing: %j', async use => {
    await mistakeIn({}, use)
  })

  it('a path that leads nowhere', async () => {
    expect((await mistakeIn({}, './own.ts')).message).toBe('there is no file /own.ts')
    expect((await mistakeIn({ 'own.ts': '' }, './own')).fix).toBe('did you mean ./own.ts?')
    expect((await mistakeIn({ 'my/age.ts': '' }, './my/agee.ts')).fix).toBe('did you mean ./my/age.ts?')
    expect((await mistakeIn({ 'my/age.ts': '' }, './my/other.ts')).fix).toBe(
      'a path is relative to the configuration file',
    )
  })

  const ofCompilers = [
    ['a decorator', 'const dec = () => {}\nclass P { @dec m() {} }\nexport default P', {}, 'decorator (@name)'],
    ['JSON', `import a from './a.json'\nexport default a`, { 'a.json': '{}' }, "with { type: 'json' }"],
    ['a type', `import { T } from './t.ts'\nexport default 1`, { 't.ts': 'export type T = 1' }, '`import type`'],
    ['an alias', `import a from '@/lib'\nexport default a`, {}, '`paths` of a tsconfig are not read'],
  ] as const
  it.for(ofCompilers)('%s, which a compiler accepts', async ([, text, files, fix]) => {
    expect((await mistakeIn({ 'own.ts': text, ...files }, './own.ts')).fix).toContain(fix)
  })

  const mistakes = [
    ['syntax', 'export default {\n  a b\n}', 'Unexpected token', '/own.ts:2'],
    ['an enum', 'const a = 1\nenum Colour { Red }\nexport default a', 'enum is not supported', '/own.ts:2'],
    ['a missing file', `import a from './other.ts'\nexport default a`, "Cannot find module '/other.ts'", ''],
    ['a missing package', `import a from 'not-there'\nexport default a`, "Cannot find package 'not-there'", ''],
    ['a missing export', `import { no } from 'tidegauge'\nexport default no`, "export named 'no'", '/own.ts:1'],
    ['an error', `const a: number = 1\nthrow new Error('at once')\nexport default a`, 'at once', '/own.ts:2'],
    ['a thrown text', `throw 'at once'\nexport default 1`, 'at once', ''],
    ['no default export', 'export const a = 1', 'it has no default export', ''],
    ['no collector', 'export default 5', 'its default export is 5', ''],
    [
      'no parts, and a wrong one',
      'export default { metrics: 5, history: undefined }',
      'options is missing: a zod schema; metrics must be an object of labels, or a function of the options; history is missing: true or false; collect is missing: a function',
      '',
    ],
    ['no label', collectorText('1').replace('Level: {}', ''), 'its metrics declare no label', ''],
    ['a label in words', collectorText('1').replace('Level: {}', '"sea level": {}'), 'sea level', ''],
    ['a label with ___', collectorText('1').replace('Level: {}', 'sea___level: {}'), 'holds ___', ''],
    ['a wrong part', collectorText('1').replace('Level: {}', 'Level: { untt: "m" }'), 'untt', ''],
    ['a jump in words', jumping('"a lot"'), `"Level": maxJump: must be a positive number in the metric's unit`, ''],
    ['a jump that is no part', jumping('"20"'), "or a part of the last value like '20%'", ''],
    ['a jump backwards', jumping('"-20%"'), 'maxJump: must be a positive', ''],
    ['a jump of nothing', jumping('0'), 'maxJump: must be a positive', ''],
    ['a jump of no part', jumping('"0%"'), 'maxJump: must be a positive', ''],
    [
      'bounds without room',
      collectorText('1').replace('Level: {}', 'Level: { min: 5, max: 1 }'),
      'min 5 is more than max 1',
      '',
    ],
    ['a wrong unit', collectorText('1').replace('Level: {}', 'Level: { unit: 5 }'), 'unit: must be text', ''],
  ] as const
  it.for(sampleOf(mistakes, 3))('%s', async ([, text, message, at]) => {
    const mistake = await mistakeIn({ 'own.ts': text }, './own.ts')
    expect(mistake.message).toContain(message)
    expect(mistake.message).toContain('own.ts')
    expect(mistake.message).not.toContain('?changed')
    expect(mistake.at.replace(/(:\d+):\d+$/, '$1')).toBe(at)
    expect(mistake.fix).not.toBe('')
  })
})

it('a request with what is not known is refused, not sent without it', async () => {
  const text = collectorText('1').replace(
    'collect: () => ({ Level: 1 })',
    `collect: async ({ http }) => ({ Level: await http.json('http://127.0.0.1:9', z.number(), { retries: 5 }) })`,
  )
  const { file } = outside({ 'own.ts': text })
  const fault = await faultOf(testRunner().runner.collect(configured('./own.ts', { file }), hour))
  expect(fault).toMatchObject({ code: 'http-refused', message: 'http knows no retries' })
})

describe('options are parsed by the collector’s own schema:', () => {
  const describeOptions = (options: unknown) => testRunner().runner.describe(configured('chainlink-feed', { options }))

  it('each mistake has its path, each unknown key its own', async () => {
    const feed = '0x00000000000000000000000000000000000000zz'
    const known = ['chain', 'feed', 'unit', 'label', 'maxAge']
    expect(await describeOptions({ feed, fead: 1, chian: 'x' })).toEqual({
      kind: 'mistaken',
      mistakes: expect.arrayContaining([
        { path: ['chain'], message: 'must be text' },
        { path: ['feed'], message: 'must be an address: 0x and 40 hexadecimal digits' },
        { path: ['fead'], message: 'unknown option "fead"', knownNames: known },
        { path: ['chian'], message: 'unknown option "chian"', knownNames: known },
      ]),
    })
  })

  it.for(sampleOf([null, undefined, 5, 'text', []], 1))('options that are no map: %j', async options => {
    expect((await describeOptions(options)).kind).toBe('mistaken')
  })

  it('a run with mistaken options is refused', async () => {
    const { runner } = testRunner()
    const fault = await faultOf(runner.collect(configured('host', { options: { dsik: 1 } }), hour))
    expect(fault).toMatchObject({ code: 'collector-unusable', message: 'options of host: dsik: unknown option "dsik"' })
  })
})
