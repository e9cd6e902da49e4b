/**
 * Plants faults into pure decisions, one at a time, and runs the tests that `npm test` has for each: those that no test finds
 * are printed with their places. `npm run mutants -- SEED COUNT FILE`; default: seed 1, 200 mutants, of all files. It works
 * on a copy.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { dice } from '../../src/devchain/dice.ts'

/** Files of decisions, and the tests of each, in the order in which they are tried: the quick ones find most. */
const decisions: Readonly<Record<string, readonly string[]>> = {
  'src/model/verdict.ts': ['test/model/verdict', 'test/model'],
  'src/model/rhythm.ts': ['test/model', 'test/intake'],
  'src/model/backoff.ts': ['test/model', 'test/intake'],
  'src/delivery/isolate/reduce.ts': ['test/delivery/isolate/reduce', 'test/delivery'],
  'src/delivery/gate.ts': ['test/delivery/gate', 'test/delivery'],
  'src/delivery/worklist.ts': ['test/delivery/worklist', 'test/delivery'],
  'src/outbox/store/policy.ts': ['test/outbox/sqlite/contract.soak.test.ts'],
  'src/outbox/store/end-of-hour.ts': [
    'test/outbox/store/end-of-hour.test.ts',
    'test/outbox/sqlite/contract.soak.test.ts',
  ],
  'src/chain/look-up/as-of.ts': [
    'test/chain/look-up/as-of',
    'test/chain/look-up',
    'test/chain/properties.soak.test.ts',
  ],
  'src/chain/read/certificate.ts': ['test/chain/read/certificate.test.ts', 'test/chain/read'],
  'src/intake/compute-due-hours.ts': ['test/intake/compute-due-hours', 'test/intake'],
  'src/intake/hour-outcome.ts': ['test/intake/hour-outcome', 'test/intake'],
  'src/intake/validate.ts': ['test/intake/validate', 'test/intake'],
  'collectors/values/formula.ts': [
    'test/collectors/values',
    'test/collectors/contract-read',
    'test/collectors/none',
    'test/collectors/supply-and-vault',
  ],
  'collectors/values/fraction.ts': ['test/collectors/values'],
  'collectors/values/price/exact-price.ts': [
    'test/collectors/values',
    'test/collectors/prices',
    'test/collectors/feed',
  ],
  'collectors/values/price/answered.ts': ['test/collectors/values', 'test/collectors/prices'],
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

/** How the tests of a mutant end; `endless`: one of them, or all, after a time that none takes without a mutant. */
type Outcome = 'passed' | 'failed' | 'endless'

/** Runs tests until some do not pass. */
async function outcomeOf(tests: readonly string[]): Promise<Outcome> {
  for (const test of tests) {
    const outcome = await outcomeOfOne(test)
    if (outcome !== 'passed') return outcome
  }
  return 'passed'
}

/** The time that each list of tests takes without a mutant, on this machine. */
const usualMs = new Map<string, number>()

async function outcomeOfOne(test: string): Promise<Outcome> {
  const startMs = Date.now()
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--bail=1', '--reporter=dot', test]
  // A process group of its own: a worker that loops must end, too.
  const child = spawn(process.execPath, args, { cwd: copy, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const { pid = Number.NaN } = child
  let said = ''
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', text => (said += text))
  const limitMs = Math.max(60_000, 10 * (usualMs.get(test) ?? 60_000))
  const limit = setTimeout(() => process.kill(-pid, 'SIGKILL'), limitMs)
  const [code] = await once(child, 'close')
  clearTimeout(limit)
  if (code === 0) {
    if (!usualMs.has(test)) usualMs.set(test, Date.now() - startMs)
    return 'passed'
  }
  return code === null || /(Test|Hook) timed out in/.test(said) ? 'endless' : 'failed'
}

const [seed, count, only] = process.argv.slice(2)
const { roll } = dice(Number(seed ?? 1))
const texts = new Map(Object.keys(decisions).map(file => [file, readFileSync(join(root, file), 'utf8')]))
const all = [...texts].flatMap(([file, text]) => (only && file !== only ? [] : mutantsOf(file, text)))
const chosen = all
  .map(mutant => ({ mutant, place: roll() }))
  .sort((a, b) => a.place - b.place)
  .slice(0, Number(count ?? 200))
// Tests that fail without a mutant would find each.
for (const file of new Set(chosen.map(({ mutant }) => mutant.file))) {
  if ((await outcomeOf(decisions[file] ?? [])) !== 'passed')
    throw new Error(`the tests of ${file} fail without a mutant`)
}
const sums = { passed: 0, failed: 0, endless: 0 }
for (const [place, { mutant }] of chosen.entries()) {
  process.stderr.write(`${place + 1} of ${chosen.length}\r`)
  const { file, start, end, by } = mutant
  const text = texts.get(file) ?? ''
  writeFileSync(join(copy, file), `${text.slice(0, start)}${by}${text.slice(end)}`)
  const outcome = await outcomeOf(decisions[file] ?? [])
  writeFileSync(join(copy, file), text)
  sums[outcome] += 1
  if (outcome === 'failed') continue
  const line = text.slice(0, start).split('\n').length
  const change = `${text.slice(start, end)} → ${by}`.replace(/\s+/g, ' ')
  console.log(`${outcome === 'passed' ? 'not found' : 'endless'}: ${file}:${line} ${change}`)
}
const { failed, endless } = sums
console.log(
  `${failed + endless} of ${chosen.length} mutants were found, ${endless} of them by a test that never ended, of ${all.length} there are`,
)
rmSync(copy, { recursive: true })
