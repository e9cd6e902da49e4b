import { mkdirSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { heard } from '../../../src/runner/daemon/from-child.ts'
import { codeTexts, groupOf, readablePaths, requireFile } from '../../../src/runner/daemon/sandbox.ts'
import { temporaryFolder } from '../../support/folder.ts'

it('code is read of regular files, below its folder, up to some megabytes', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'own', 'tides.ts')
  mkdirSync(join(folder, 'own', 'moon'), { recursive: true })
  const named = ['../../../../dev/zero', '../beside.ts', './moon/phase.js', './large.mjs', './table.json', './moon']
  writeFileSync(file, named.map(path => `// '${path}'`).join('\n'))
  writeFileSync(join(folder, 'beside.ts'), 'beside')
  writeFileSync(join(folder, 'own', 'moon', 'phase.js'), 'phase')
  writeFileSync(join(folder, 'own', 'table.json'), '[]')
  writeFileSync(join(folder, 'own', 'large.mjs'), '')
  truncateSync(join(folder, 'own', 'large.mjs'), 2 ** 33)
  expect(codeTexts(file).slice(1)).toEqual(['phase', ''])
})

it('code named by `imports` of package.json is read as code named by its path, and no other', async () => {
  const folder = realpathSync(temporaryFolder())
  const file = join(folder, 'own', 'tides.ts')
  mkdirSync(join(folder, 'own', 'lib', 'deep'), { recursive: true })
  const imports = {
    '#lib/*': { types: './own/none.d.ts', default: './own/lib/*.ts' },
    '#lib/deep/*.js': './own/lib/deep/*.ts',
    '#out': './out.ts',
    '#up/*': './own/*.ts',
    '#viem': 'viem',
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ imports }))
  const names = ['#lib/six', '#lib/deep/sea.js', '#out', '#up/../../../../etc/hosts', '#viem', '#fff', './lib/seven.ts']
  writeFileSync(file, names.map(name => `import '${name}'`).join('\n'))
  writeFileSync(join(folder, 'own', 'lib', 'six.ts'), 'six')
  writeFileSync(join(folder, 'own', 'lib', 'seven.ts'), "seven: import '#lib/eight'")
  writeFileSync(join(folder, 'own', 'lib', 'eight.ts'), 'eight')
  writeFileSync(join(folder, 'own', 'lib', 'deep', 'sea.ts'), 'sea')
  writeFileSync(join(folder, 'out.ts'), 'out')
  expect(
    codeTexts(file)
      .slice(1)
      .filter(text => text !== ''),
  ).toEqual(['six', 'sea', "seven: import '#lib/eight'", 'eight'])
  // Next to a configuration: what is named, and nothing else.
  const group = groupOf({ use: './tides.ts', configFile: join(folder, 'own', 'tidegauge.yaml') }, [])
  const { reads } = await readablePaths({ ...group, hiddenRoots: [], configFolders: [join(folder, 'own')] })
  expect(reads).toContain(join(folder, 'own', 'lib', 'six.ts'))
  expect(reads).toContain(join(folder, 'own', 'lib', 'eight.ts'))
  expect(reads.filter(path => /out\.ts|etc\/hosts/.test(path))).toEqual([])
})

it.each(['apikey', 'word.txt', '.env', 'link.js'])(
  'code is not loaded of %s, whose first words an error would show',
  name => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'apikey'), 'sk_live_1')
    if (name === 'link.js') symlinkSync('apikey', join(folder, name))
    else writeFileSync(join(folder, name), 'sk_live_1')
    const load = () => requireFile({ use: `./${name}`, configFile: join(folder, 'tidegauge.yaml') })
    expect(load).toThrow(`${join(folder, name)} is not a file of JavaScript or TypeScript`)
  },
)

it('a thousand dependencies of a package are looked for, however many it names', async () => {
  const folder = temporaryFolder()
  const packages = join(folder, 'node_modules')
  const names = Array.from({ length: 1_500 }, (_, index) => `dep-${index}`)
  for (const name of ['evil', 'dep-7', 'dep-1400']) mkdirSync(join(packages, name), { recursive: true })
  const dependencies = Object.fromEntries(names.map(name => [name, '1']))
  writeFileSync(join(packages, 'evil', 'package.json'), JSON.stringify({ name: 'evil', dependencies }))
  const group = groupOf({ use: 'evil', configFile: join(folder, 'tidegauge.yaml') }, [])
  const { reads } = await readablePaths({ ...group, hiddenRoots: [], configFolders: [] })
  expect(reads).toContain(join(packages, 'dep-7'))
  expect(reads).not.toContain(join(packages, 'dep-1400'))
})

const run = 'a'.repeat(32)
const many = (kind: string, name: string, entry: unknown, count: number) =>
  `{"kind":"${kind}","${name}":[${Array(count).fill(JSON.stringify(entry)).join()}]}`

it.each([
  ['questions of no form', many('asks', 'asks', { ask: 1, run }, 4_000)],
  ['questions of a wrong form', many('asks', 'asks', { ask: 1, run, chain: 1, question: [] }, 4_000)],
  ['more questions than a message has', many('asks', 'asks', { ask: 1, run, price: 'x' }, 6_000)],
  ['ends of no kind', many('ended', 'runs', { run, end: {} }, 4_000)],
  ['requests that end in no way', many('slot-ends', 'ends', { ask: 1, how: [] }, 4_000)],
  [
    'faults of no form',
    `{"kind":"ended","runs":[{"run":"${run}","end":{"kind":"collected","outcome":{"readings":{},"failures":{${Array.from({ length: 9_000 }, (_, at) => `"l${at}":{}`).join()}}}}}]}`,
  ],
])('a message is refused at the first part that is wrong: %s', (_, line) => {
  const before = process.memoryUsage().heapUsed
  expect(heard(line)).toMatchObject({ ok: false })
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(40 * 1_048_576)
})

const described = (metrics: object) =>
  heard(
    JSON.stringify({
      kind: 'ended',
      runs: [
        {
          run,
          end: {
            kind: 'described',
            description: { kind: 'usable', metrics, history: false, declared: [], secrets: [] },
          },
        },
      ],
    }),
  )

it.each(['$(touch x)', 'a b', 'A___B', '__proto__', '<b>', 'a\nb', ''])(
  'a label that no metric can have is refused, though its process has taken it: %j',
  label => {
    expect(described(Object.fromEntries([[label, {}]]))).toMatchObject({ ok: false })
  },
)

it('a unit of a process is one line, whatever is in it', () => {
  const { message } = described({ A: { unit: 'X\nready: nothing is late\u001b[2J\u202e' } }) as never
  expect(JSON.stringify(message)).toContain('"unit":"X ready: nothing is late [2J "')
})
