/**
 * Plants faults into pure decisions, one at a time, and runs the tests that `npm test` has for each: those that no test finds
 * are printed with their places. `npm run mutants -- SEED COUNT`; default: seed 1, 200 mutants. It works on a copy.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { dice } from '../../src/devchain/dice.ts'

/** Files of decisions, and the tests of each. */
const decisions: Readonly<Record<string, readonly string[]>> = {
  'src/model/verdict.ts': ['test/model'],
  'src/model/rhythm.ts': ['test/model', 'test/intake'],
  'src/model/backoff.ts': ['test/model', 'test/intake'],
  'src/delivery/isolate/reduce.ts': ['test/delivery'],
  'src/delivery/gate.ts': ['test/delivery'],
  'src/delivery/worklist.ts': ['test/delivery'],
  'src/outbox/store/policy.ts': ['test/outbox/sqlite/contract.soak.test.ts', 'test/outbox/store'],
  'src/outbox/store/end-of-hour.ts': ['test/outbox/store', 'test/outbox/sqlite/contract.soak.test.ts'],
  'src/chain/look-up/as-of.ts': ['test/chain/look-up', 'test/chain/properties.soak.test.ts'],
  'src/chain/read/certificate.ts': ['test/chain/read'],
  'src/intake/compute-due-hours.ts': ['test/intake'],
  'src/intake/hour-outcome.ts': ['test/intake'],
  'src/intake/validate.ts': ['test/intake'],
  'collectors/values/formula.ts': ['test/collectors'],
  'collectors/values/fraction.ts': ['test/collectors/values'],
  'collectors/values/price/exact-price.ts': ['test/collectors'],
  'collectors/values/price/answered.ts': ['test/collectors'],
  'src/salvage/mend.ts': ['test/salvage'],
}

const swaps: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
}

/** A change of one token. */
interface Mutant {
  readonly file: string
  readonly start: number
  readonly end: number
  readonly by: string
}

/** A node of the syntax tree, as far as mutants look at it. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly operator?: string
  readonly value?: unknown
  readonly left?: Node
  readonly right?: Node
  readonly test?: Node
}

/** All mutants of a file: operators, truth values, numbers and conditions. */
function mutantsOf(file: string, text: string): Mutant[] {
  const found: Mutant[] = []
  const add = ({ start, end }: Pick<Node, 'start' | 'end'>, by: string) => found.push({ file, start, end, by })
  const visit = (node: Node): void => {
    // Types have no behaviour.
    if (node.type.startsWith('TSType') || node.type.startsWith('TSInterface') || node.type === 'ImportDeclaration')
      return
    const { operator = '', left, right, test, value } = node
    const by = swaps[operator]
    if (by !== undefined && left && right) {
      const start = text.indexOf(operator, left.end)
      add({ start, end: start + operator.length }, by)
    }
    if (node.type === 'Literal' && typeof value === 'boolean') add(node, `${!value}`)
    if (node.type === 'Literal' && typeof value === 'number') add(node, `${value + 1}`)
    if (test) add(test, `!(${text.slice(test.start, test.end)})`)
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child)
  }
  const program: unknown = parseAst(text, { lang: 'ts' })
  if (isNode(program)) visit(program)
  return found
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'tidegauge-mutants-'))
const parts = ['src', 'collectors', 'config', 'docs', 'test', 'create', 'package.json', 'tsconfig.json']
for (const part of parts) {
  cpSync(join(root, part), join(copy, part), { recursive: true, filter: path => !path.endsWith('node_modules') })
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
// Without what the whole suite sets up: these tests start no program.
writeFileSync(
  join(copy, 'vitest.config.ts'),
  `export default { resolve: { alias: { 'tidegauge/testing': '${copy}/src/testing.ts', tidegauge: '${copy}/src/collector.ts' } },
  test: { isolate: false, pool: 'forks', testTimeout: 120_000, exclude: ['**/*.long.test.ts', '**/node_modules/**'] } }`,
)

/** Whether a test fails, or none ends within minutes. */
function isFound(tests: readonly string[]): boolean {
  const args = ['vitest', 'run', '--bail=1', ...tests]
  return spawnSync('npx', args, { cwd: copy, stdio: 'ignore', timeout: 300_000 }).status !== 0
}

const [seed = 1, count = 200] = process.argv.slice(2).map(Number)
const { roll } = dice(seed)
const texts = new Map(Object.keys(decisions).map(file => [file, readFileSync(join(root, file), 'utf8')]))
const all = [...texts].flatMap(([file, text]) => mutantsOf(file, text))
const chosen = all
  .map(mutant => ({ mutant, place: roll() }))
  .sort((a, b) => a.place - b.place)
  .slice(0, count)
const sound = new Set<string>()
let found = 0
let tried = 0
for (const { mutant } of chosen) {
  const { file, start, end, by } = mutant
  // Tests that fail without a mutant would find each.
  if (!sound.has(file) && isFound(decisions[file] ?? [])) throw new Error(`the tests of ${file} fail without a mutant`)
  sound.add(file)
  const text = texts.get(file) ?? ''
  writeFileSync(join(copy, file), `${text.slice(0, start)}${by}${text.slice(end)}`)
  const isSeen = isFound(decisions[file] ?? [])
  writeFileSync(join(copy, file), text)
  tried += 1
  if (isSeen) found += 1
  else {
    const line = text.slice(0, start).split('\n').length
    console.log(
      `not found: ${file}:${line} ${text.slice(start, end).replace(/\s+/g, ' ')} → ${by.replace(/\s+/g, ' ')}`,
    )
  }
}
console.log(`${found} of ${tried} mutants were found, of ${all.length} there are`)
rmSync(copy, { recursive: true })
