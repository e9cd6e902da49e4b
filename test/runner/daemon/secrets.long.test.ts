import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cautionsOf } from '../../../src/config/cautions.ts'
import { optionMistakes } from '../../../src/config/explain.ts'
import { hiddenPaths } from '../../../src/config/include.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { formatMistakes } from '../../../src/config/mistakes.ts'
import type { RunnerDeps } from '../../../src/runner/daemon/process-runner.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { faultOf, hour, testRunner } from '../setup.ts'

const variable = 'TIDEGAUGE_TEST_API_KEY'

const keyed = `import { defineCollector, secret, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ apiKey: secret, more: z.array(secret).default([]), file: z.string().default('x') }),
  metrics: { Chars: {} },
  history: true,
  collect: ({ options, log }) => {
    log.info('key ' + options.apiKey, { more: options.more.join(' '), code: options.apiKey })
    if (options.apiKey.startsWith('throw')) throw new Error('with ' + options.apiKey)
    return { Chars: options.apiKey.length }
  },
})
`

/** A folder with a collector that asks for a secret, and a configuration that uses it with these options. */
function trial(options: string, source = keyed, parts: Partial<RunnerDeps> = {}) {
  const folder = temporaryFolder()
  const file = (name: string) => join(folder, name)
  const config = `service: embedded
protocols:
  - id: a
    name: A
    collectors:
      - use: ./keyed.ts
        options: ${options}
`
  writeFileSync(file('mine.yaml'), config)
  writeFileSync(file('keyed.ts'), source)
  const loaded = loadConfig(file('mine.yaml'))
  const [collector] = loaded.protocols.flatMap(protocol => protocol.collectors)
  if (!collector) throw new Error('no collector')
  const redactor = new Redactor()
  const { runner, lines } = testRunner({ redactor, hidden: hiddenPaths(loaded), ...parts })
  onTestFinished(() => void delete process.env[variable])
  const described = async () => {
    const description = await runner.describe(collector)
    const mistakes = description.kind === 'mistaken' ? optionMistakes(collector, description.mistakes) : []
    return formatMistakes(mistakes).replaceAll(/^.*mine\.yaml/gm, 'mine.yaml')
  }
  return { file, loaded, collector, runner, lines, redactor, described, collect: () => runner.collect(collector, hour) }
}

describe('a secret of a collector', () => {
  it('is read again at each run, from a variable or a file next to the configuration', async () => {
    const { collect, file } = trial(`{ apiKey: { file: ./key } }`)
    writeFileSync(file('key'), 'first-key\n')
    expect((await collect()).readings).toEqual({ Chars: 9 })
    writeFileSync(file('key'), 'another-key\n')
    expect((await collect()).readings).toEqual({ Chars: 11 })
    const ofVariable = trial(`{ apiKey: { env: ${variable} } }`)
    process.env[variable] = 'Bearer of-a-variable'
    expect((await ofVariable.collect()).readings).toEqual({ Chars: 20 })
  })

  it('that is missing fails the run alone, names its option and place, and heals', async () => {
    const { collect, described, collector, loaded, runner } = trial(`{ apiKey: { env: ${variable} } }`)
    expect(await described()).toBe('')
    const fault = await faultOf(collect())
    expect(fault).toMatchObject({
      code: 'secret-missing',
      facts: { variable },
      fix: 'set it where tidegauge is started',
    })
    expect(fault.message).toMatch(/^options\.apiKey: the secret's variable is not set \(.*mine\.yaml:7:20\)$/)
    const description = await runner.describe(collector)
    if (description.kind !== 'usable') throw new Error('mistaken')
    const [caution, ...others] = cautionsOf(loaded, [{ collector, description }])
    expect(caution?.message).toBe(`a secret of a/keyed: options.apiKey: the variable ${variable} is not set`)
    expect(caution?.place).toMatchObject({ line: 7, column: 20 })
    expect(others).toEqual([])
    process.env[variable] = 'now-it-is'
    expect((await collect()).readings).toEqual({ Chars: 9 })
  })

  it.for([
    ['{ apiKey: sk-live-12345678 }', 'mine.yaml:7:28: options.apiKey: must be { env: NAME } or { file: PATH }'],
    ['{ apiKey: 12345678 }', 'mine.yaml:7:28: options.apiKey: must be { env: NAME } or { file: PATH }'],
    ['{ apiKey: { env: A, file: b } }', 'mine.yaml:7:20: options.apiKey: must be { env: NAME } or { file: PATH }'],
    ['{ apiKey: {} }', 'mine.yaml:7:20: options.apiKey: must be { env: NAME } or { file: PATH }'],
    ['{ apiKey: { env: sk-12345678 } }', 'mine.yaml:7:35: options.apiKey.env: must be the name of an environment'],
    ['{ apiKey: { env: $KEY } }', 'mine.yaml:7:35: options.apiKey.env: must be the name of an environment'],
    ['{ apiKey: { file: "~/key" } }', 'mine.yaml:7:36: options.apiKey.file: must be the path of a file'],
    ['{ apiKey: { evn: KEY } }', 'mine.yaml:7:30: unknown option "evn"'],
    ['{}', 'missing: options.apiKey of ./keyed.ts'],
  ])('%s is a mistake at its place, with what to write instead', async ([options = '', words = '']) => {
    const described = await trial(options).described()
    expect(described).toContain(words)
    expect(described).not.toContain('12345678')
    expect(described.match(/mine\.yaml/g)).toHaveLength(1)
    if (options === '{}') expect(described).toContain('add it: { env: NAME } or { file: PATH }')
  })

  it('stands in no text of its collector', async () => {
    const { collect, lines, file } = trial(`{ apiKey: { file: ./key }, more: [{ file: ./other }] }`)
    writeFileSync(file('key'), 'throw-of-the-key')
    writeFileSync(file('other'), 'https://api.test/api/0123456789abcdef/x')
    const fault = await faultOf(collect())
    expect(fault.message).toBe('with [redacted]')
    expect(lines).toMatchObject([{ message: 'key [redacted]', facts: { more: '[redacted]', code: '[redacted]' } }])
  })

  it('stands in no label, and no metric can be declared with it', async () => {
    const label = keyed.replace('{ Chars: options.apiKey.length }', '{ Chars: 1, [options.apiKey]: 2 }')
    const returned = trial(`{ apiKey: { file: ./key } }`, label)
    writeFileSync(returned.file('key'), 'sk-live-12345678')
    expect(JSON.stringify(await returned.collect())).not.toContain('12345678')
    const declared = keyed.replace('metrics: { Chars: {} }', 'metrics: o => ({ Chars: {}, [o.apiKey]: {} })')
    const fault = await faultOf(trial(`{ apiKey: { file: ./key } }`, declared).described())
    expect(fault.code).toBe('collector-unusable')
    const stashed = keyed
      .replace('metrics: { Chars: {} }', "metrics: () => ({ Chars: { unit: globalThis.key ?? '' } })")
      .replace('log.info', 'globalThis.key = options.apiKey; log.info')
    const later = trial(`{ apiKey: { file: ./key } }`, stashed)
    writeFileSync(later.file('key'), 'sk-live-12345678')
    await later.collect()
    expect((await faultOf(later.described())).message).toBe('a secret is part of the declaration of its metric Chars')
  })

  it('takes nothing out of what another collector says, and out of all that its own code may know', async () => {
    const { collector, collect, file, loaded, runner } = trial(
      `{ apiKey: { file: ./key } }
      - { use: ./good.ts, id: good }
      - { use: ./keyed.ts, id: again, options: { apiKey: { file: ./again } } }`,
      keyed.replace(
        'log.info(',
        'globalThis.key ??= options.apiKey; if (options.file === "y") throw new Error(globalThis.key); log.info(',
      ),
    )
    writeFileSync(
      file('good.ts'),
      keyed
        .replaceAll('Chars', 'Supply')
        .replace('options.apiKey.length', '7')
        .replace(/log.info.*|if .*|apiKey: secret, /g, ''),
    )
    writeFileSync(file('key'), 'Supply')
    writeFileSync(file('again'), 'another-key')
    const [, good, again] = loaded.protocols.flatMap(protocol => protocol.collectors)
    if (!good || !again) throw new Error('no collectors')
    expect((await collect()).readings).toEqual({ Chars: 6 })
    expect((await runner.collect(good, hour)).readings).toEqual({ Supply: 7 })
    const options = { ...(again.options as object), file: 'y' }
    expect((await faultOf(runner.collect({ ...again, options }, hour))).message).toBe('[redacted]')
    expect(collector.id).toBe('a/keyed')
  })

  it('is not given to code that asks for what is not written', async () => {
    process.env[variable] = 'sk-live-12345678'
    const greedy = keyed.replace('apiKey: secret', `apiKey: secret.prefault({ env: '${variable}' })`)
    const fault = await faultOf(trial('{}', greedy).collect())
    expect(fault.message).toContain('refer to a secret that it is not given')
  })

  it('has a file that no collector reads, wherever it is named', async () => {
    const { file, loaded } = trial(`{ apiKey: { file: ./key }, more: [{ file: sub/other }, { env: X }] }`)
    expect(hiddenPaths(loaded)).toEqual(expect.arrayContaining([file('key'), file('sub/other')]))
    const reads = keyed.replace('{ Chars: options.apiKey.length }', "{ Chars: fs.readFileSync('./key').length }")
    const curious = trial(`{ apiKey: { file: ./key } }`, `import fs from 'node:fs'\n${reads}`)
    writeFileSync(curious.file('key'), 'sk-live-12345678')
    expect((await faultOf(curious.collect())).message).toContain('may not be read by a collector')
    rmSync(curious.file('key'))
    expect((await faultOf(curious.collect())).code).toBe('secret-missing')
  })
})
