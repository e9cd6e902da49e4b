import { expect, it, onTestFinished } from 'vitest'
import { collectors, root, sources } from './tidy/sources.ts'

process.env['RECHECK_BACKEND'] = 'pure'
const { checkSync } = await import('recheck')
const { parseAst } = await import('rolldown/parseAst')

/** A pattern, and where it is. */
interface Found {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

/** The patterns that are written in a file. */
function writtenIn(file: string, text: string): Found[] {
  const found: Found[] = []
  JSON.stringify(parseAst(text, { lang: 'ts' }), (key, value) => {
    if (key === 'regex' && typeof value?.pattern === 'string') found.push({ file, ...value })
    return typeof value === 'bigint' ? String(value) : value
  })
  return found
}

/** The patterns that modules make of texts when they are loaded, and the redactor of its secrets. */
async function madeInCode(): Promise<Found[]> {
  const found: Found[] = []
  const makers = [...sources, ...collectors].filter(({ text }) => /\bnew RegExp\(/.test(text))
  const Native = RegExp
  onTestFinished(() => {
    globalThis.RegExp = Native
  })
  const seen = (pattern: RegExp | string, flags = '') =>
    found.push({ file: 'made', pattern: typeof pattern === 'string' ? pattern : pattern.source, flags })
  globalThis.RegExp = new Proxy(Native, {
    construct(target, [pattern, flags]: [string, string?]) {
      seen(pattern, flags)
      return new target(pattern, flags)
    },
  })
  for (const { file } of makers) await import(`${root}${file}`)
  const { Redactor } = await import('../src/telemetry/redactor.ts')
  const redactor = new Redactor()
  redactor.add(['k"7/+'])
  redactor.redact('k"7/+')
  return found
}

/** Processor time, in milliseconds, of a pattern that takes the square of 100,000 characters; a linear one takes about one. */
const slowMs = 100

/**
 * Why a pattern is slow. The automaton proves that it is not. Where it does not know a part of the pattern, such as a
 * look-ahead, or has to count, the library searches for a slow text, and counts steps: the text is tried then.
 */
function slowness({ pattern, flags }: Found): string | undefined {
  const exact = checkSync(pattern, flags, { checker: 'automaton', timeout: 5_000 })
  if (exact.status === 'safe') return undefined
  if (exact.status === 'vulnerable') return `is slow for ${exact.attack.pattern}`
  const searched = checkSync(pattern, flags, { checker: 'fuzz', timeout: 20_000 })
  if (searched.status === 'safe') return undefined
  if (searched.status === 'unknown') return `cannot be judged: ${searched.error.kind}`
  const { string, pattern: shown } = searched.attack
  const before = process.cpuUsage()
  string.replace(new RegExp(pattern, flags), '')
  const { user } = process.cpuUsage(before)
  return user / 1_000 > slowMs ? `takes ${user / 1_000} ms for ${shown}` : undefined
}

it('every pattern takes time in proportion to its text, as recheck proves', async () => {
  // The code that makes the package reads this repository alone.
  const files = [...sources, ...collectors].filter(({ file }) => !file.startsWith('src/build/'))
  const written = files.flatMap(({ file, text }) => writtenIn(file, text))
  const made = await madeInCode()
  expect(written.length).toBeGreaterThan(400)
  expect(made.length).toBeGreaterThan(5)
  const all = new Map([...written, ...made].map(one => [`/${one.pattern}/${one.flags}`, one]))
  const slow = [...all].flatMap(([text, one]) => {
    const why = slowness(one)
    return why === undefined ? [] : [`${one.file}: ${text} ${why}`]
  })
  expect(slow, 'a text of a peer could hold the daemon').toEqual([])
})

it('and a slow one is found', () => {
  expect(slowness({ file: '', pattern: String.raw`(?<!x)\s+$`, flags: '' })).toMatch(/slow for|takes/)
  expect(slowness({ file: '', pattern: '(a|a)*b', flags: '' })).toMatch(/slow for|takes/)
})
