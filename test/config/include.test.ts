import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cautionsOf } from '../../src/config/cautions.ts'
import { type Config, ConfigError } from '../../src/config/config.ts'
import { foldersOf, mayOpen } from '../../src/config/include.ts'
import { loadConfig } from '../../src/config/load.ts'
import { temporaryFolder } from '../support/folder.ts'

/** A protocol on one line. */
const protocol = (id: string, rest = '') => `  - { id: ${id}, name: ${id}, collectors: [{ use: host }]${rest} }\n`
const included = (...ids: string[]) => `protocols:\n${ids.map(id => protocol(id)).join('')}`
const main = (include: string, rest = '') => `service: embedded\ninclude: [${include}]\n${rest}`

/** A folder with these files; `main.yaml` is the configuration. */
function folderOf(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder()
  const path = (name: string) => join(folder, name)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), text)
  }
  const short = (text: string) => text.replaceAll(`${folder}/`, '')
  return { folder, path, short, load: () => loadConfig(path('main.yaml')) }
}

const idsOf = ({ protocols }: Config) => protocols.map(({ id }) => id)

/** The mistakes as `file:line:col: message → fix`. */
function linesOf({ load, short }: ReturnType<typeof folderOf>): string[] {
  try {
    load()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes.map(({ place, message, fix }) =>
      short(`${place.file}:${place.line}:${place.column}: ${message} → ${fix}`),
    )
  }
  throw new Error('there is no mistake')
}

describe('included files', () => {
  it('add their protocols behind those of the main file, in the order of the entries and of their names', () => {
    const { load, short } = folderOf({
      'main.yaml': main('./p/*.yaml, q.yml, "p/sub/**/*.yaml"', included('m')),
      'p/b.yaml': included('b1', 'b2'),
      'p/a.yaml': included('a'),
      'p/.hidden.yaml': 'service: embedded',
      'p/note.txt': 'no configuration',
      'p/sub/deep/c.yaml': included('c'),
      'p/sub/node_modules/x.yaml': 'service: embedded',
      'q.yml': included('q'),
    })
    const config = load()
    expect(idsOf(config)).toEqual(['m', 'a', 'b1', 'b2', 'q', 'c'])
    expect(config.protocols.map(({ place }) => short(`${place.file}:${place.line}:${place.column}`))).toEqual([
      'main.yaml:4:5',
      'p/a.yaml:2:5',
      'p/b.yaml:2:5',
      'p/b.yaml:3:5',
      'q.yml:2:5',
      'p/sub/deep/c.yaml:2:5',
    ])
  })

  it('may have all protocols; the main file has none then', () => {
    expect(idsOf(folderOf({ 'main.yaml': main('p.yaml'), 'p.yaml': included('a') }).load())).toEqual(['a'])
  })

  it('count once, however often they are matched, and the main file is not among them', () => {
    const { load, path } = folderOf({
      'main.yaml': main('./*.yaml, ./a.yaml, ./linked/*.yaml', included('m')),
      'a.yaml': included('a'),
    })
    symlinkSync(path('a.yaml'), path('z.yaml'))
    symlinkSync(path('.'), path('linked'))
    expect(idsOf(load())).toEqual(['m', 'a'])
  })

  it('have paths relative to themselves', () => {
    const own = `protocols:
  - { id: a, name: A, key: { file: key }, collectors: [{ use: ./own.ts, options: { token: { file: token } } }] }
`
    const { load, path } = folderOf({
      'main.yaml': 'service: { url: "https://m.example.com" }\ninclude: [p/a.yaml]\n',
      'p/a.yaml': own,
    })
    const [a] = load().protocols
    expect(a?.key).toMatchObject({ kind: 'file', path: path('p/key') })
    expect(a?.collectors[0]?.place.file).toBe(path('p/a.yaml'))
    expect(a?.collectors[0]?.placeOf(['token'])).toMatchObject({ file: path('p/a.yaml'), line: 2 })
  })

  it('are frozen with the rest', () => {
    const { includes } = folderOf({ 'main.yaml': main('p.yaml'), 'p.yaml': included('a') }).load()
    expect(Object.isFrozen(includes[0]?.files)).toBe(true)
  })

  it('whose name has special characters are found by it', () => {
    const files = { 'main.yaml': main('"./[prod]/a.yaml"'), '[prod]/a.yaml': included('a') }
    expect(idsOf(folderOf(files).load())).toEqual(['a'])
  })

  it('that a pattern does not match yet are a warning, if there is a protocol elsewhere', () => {
    const { load, path, short } = folderOf({ 'main.yaml': main('p/*.yaml', included('m')), 'p/x.txt': '' })
    expect(cautionsOf(load()).map(({ place, message }) => short(`${place.line}:${place.column}: ${message}`))).toEqual([
      '2:11: include: p/*.yaml adds no file',
    ])
    writeFileSync(path('p/a.yaml'), included('a'))
    expect(cautionsOf(load())).toEqual([])
  })
})

describe('mistakes of included files', () => {
  it('are reported with those of the main file, each with its own file', () => {
    const files = {
      'main.yaml': `${main('p/*.yaml', included('m'))}dta: x\n`,
      'p/a.yaml': 'protocols:\n  - id: A\n    nmae: x\n    collectors: [{ use: host }]\n',
      'p/b.yaml': 'protocols: [{ id: "b }]\n',
      'p/c.yaml': 'protocols: [{ id: c, name: C, collectors: [{ use: x, options: { chain: eth } }] }]\n',
    }
    expect(linesOf(folderOf(files))).toEqual([
      'main.yaml:5:1: unknown key "dta" → did you mean "data"?',
      'p/a.yaml:2:9: protocols[0].id: "A" is not a slug of lowercase letters, digits, - and _ → write a',
      'p/a.yaml:3:5: unknown key "nmae" in protocols[0] → did you mean "name"?',
      'p/b.yaml:1:19: the quote that opens here is not closed → close it at the end of the text',
      'p/c.yaml:1:72: protocols[0].collectors[0].options.chain: there is no chain "eth" under chains: → add it: chains: { eth: { id: …, rpc: […] } }',
    ])
  })

  it('name both places of an id that is in two files', () => {
    const files = { 'main.yaml': main('p/*.yaml'), 'p/a.yaml': included('x', 'a'), 'p/b.yaml': included('b', 'a') }
    const trial = folderOf(files)
    expect(linesOf(trial)).toEqual([
      'p/b.yaml:3:11: protocols[1].id: the protocol id "a" is taken by the one at p/a.yaml:3:11 → give each protocol an id of its own',
    ])
    writeFileSync(trial.path('main.yaml'), main('p/a.yaml', included('x')))
    expect(linesOf(trial)).toEqual([
      'p/a.yaml:2:11: protocols[0].id: the protocol id "x" is taken by the one at main.yaml:4:11 → give each protocol an id of its own',
    ])
  })

  it('say what belongs to the main file', () => {
    const text = `include: [./x.yaml]\nservice: embedded\nnonsense: 1\n${included('a')}`
    expect(linesOf(folderOf({ 'main.yaml': main('p.yaml'), 'p.yaml': text }))).toEqual([
      'p.yaml:1:1: include: this key belongs to the main file → an included file holds protocols, prices, tokenPrices and lists alone; put this key in the main file',
      'p.yaml:2:1: service: this key belongs to the main file → an included file holds protocols, prices, tokenPrices and lists alone; put this key in the main file',
      'p.yaml:3:1: unknown key "nonsense" → known here: prices, tokenPrices, lists, protocols',
    ])
  })

  it.each([
    ['', 'p.yaml:1:1: the file is empty → write protocols: … or prices: … in it, or remove the file'],
    ['# protocols: []\n', 'p.yaml:1:1: the file is empty → write protocols: … or prices: … in it, or remove the file'],
    ['- a\n', 'p.yaml:1:1: the file is a list, not a map → write it as key: value lines: protocols: …'],
    ['protocols: []\n', 'p.yaml:1:1: protocols: must have at least 1 entry → write it like '],
  ])('tell a file without protocols: %j', (text, words) => {
    const [first = '', ...others] = linesOf(folderOf({ 'main.yaml': main('p.yaml', included('m')), 'p.yaml': text }))
    expect(first).toContain(words)
    expect(others).toEqual([])
  })

  it('tell an entry that leads to nothing', () => {
    const trial = folderOf({
      'main.yaml': main('./no.yaml, ./no/*.yaml, p, main.yaml, ~/x.yaml, p/*.yaml', included('m')),
      'p/a.txt': '',
    })
    symlinkSync(trial.path('nowhere'), trial.path('p/lost.yaml'))
    expect(linesOf(trial).map(line => line.split(' → ')[0])).toEqual([
      'main.yaml:2:11: include[0]: there is no file no.yaml',
      'main.yaml:2:22: include[1]: there is no folder no',
      'main.yaml:2:35: include[2]: p is a folder',
      'main.yaml:2:38: include[3]: a file cannot include itself',
      'main.yaml:2:49: include[4]: ~ is not expanded here',
      'main.yaml:2:59: include[5]: there is no file p/lost.yaml',
    ])
  })

  it('tell a configuration without any protocol', () => {
    const missing = 'missing: protocols, neither here nor in an included file'
    const trial = folderOf({ 'main.yaml': main('p/*.yaml'), 'p/a.txt': '' })
    expect(linesOf(trial)[0]).toContain(`main.yaml:2:1: ${missing} → add it, for example protocols: [{ id:`)
    rmSync(trial.path('p'), { recursive: true })
    expect(linesOf(trial), 'they may be in what is not found').toHaveLength(1)
    writeFileSync(trial.path('main.yaml'), main(''))
    expect(linesOf(trial)[0]).toContain('main.yaml:1:1: missing: protocols → add it')
  })

  it('keep a key for each protocol required', () => {
    const files = {
      'main.yaml': 'service: { url: "https://m.example.com" }\ninclude: [p.yaml]\n',
      'p.yaml': included('a'),
    }
    expect(linesOf(folderOf(files))[0]).toContain(
      'p.yaml:2:5: protocols[0]: no API key, neither here nor at the service',
    )
  })
})

describe('the folders of a pattern', () => {
  it('are those in which a file that it matches may appear', () => {
    const { folder, path } = folderOf({ 'p/a/x/1.yaml': '', 'p/b/2.yaml': '', 'p/node_modules/3.yaml': '' })
    const folders = (pattern: string) => foldersOf({ pattern: path(pattern) }).map(one => one.slice(folder.length + 1))
    expect(folders('p/*.yaml')).toEqual(['p'])
    expect(folders('p/a.yaml')).toEqual(['p'])
    expect(folders('p/*/x/*.yaml').sort()).toEqual(['p', 'p/a', 'p/a/x', 'p/b'])
    expect(folders('p/**/*.yaml').sort()).toEqual(['p', 'p/a', 'p/a/x', 'p/b'])
  })
})

it('prices count in all files, and a name in two is reported with both places', () => {
  const price = 'prices: { ETH: [{ fixed: 1 }] }\n'
  const second = { 'p.yaml': `${price}${included('a')}` }
  const { prices } = folderOf({
    ...second,
    'main.yaml': main('./p.yaml', 'prices: { WETH: [{ price: ETH }] }\n'),
  }).load()
  expect(prices.map(({ name }) => name)).toEqual(['WETH', 'ETH'])
  expect(linesOf(folderOf({ ...second, 'main.yaml': main('./p.yaml', price) }))).toEqual([
    'p.yaml:1:11: prices.ETH: the price "ETH" is taken by the one at main.yaml:3:11 → keep one of them: the first source that answers stands',
  ])
})

describe('secrets of included files', () => {
  const collector = (secret: string) =>
    `protocols: [{ id: a, name: A, collectors: [{ use: ./x.ts, options: { on: [{ token: ${secret} }] } }] }]\n`
  const whole = `service: { url: "https://m.example.com", key: { file: k/key } }
data: { postgres: { env: DB } }
heartbeat: { url: { env: PING } }
notify: [{ telegram: { token: { env: BOT }, chat: { file: chat } } }]
protocols: [{ id: m, name: M, key: { env: KEY_OF_MAIN }, collectors: [{ use: host }] }]
chains: { c: { id: 1, rpc: [{ env: NODE }, { url: "https://n.example.com", headers: { authorization: { env: AUTH } } }] } }
`
  const ofQ = 'protocols: [{ id: q, name: Q, key: { env: OF_Q }, collectors: [{ use: host }] }]\n'
  const load = (entry: string, text: string) => () => {
    const folder = folderOf({
      'main.yaml': `${whole}include: [${entry}]\n`,
      'p/a.yaml': text,
      'q.yaml': ofQ,
      'k/key': 'x',
    })
    symlinkSync(folder.path('k/key'), folder.path('p/other-name'))
    return linesOrNone(folder)
  }
  const linesOrNone = (folder: ReturnType<typeof folderOf>) => {
    try {
      folder.load()
      return []
    } catch {
      return linesOf(folder)
    }
  }
  const key = (secret: string) => `protocols: [{ id: a, name: A, key: ${secret}, collectors: [{ use: host }] }]\n`

  it.each([
    ['./p/*.yaml', collector('{ env: TEAM }'), undefined],
    ['./p/*.yaml', collector('{ env: DB }'), 'p/a.yaml:1:'],
    ['./p/*.yaml', collector('{ env: PING }'), 'a/x: PING is a secret of the main file'],
    ['./p/*.yaml', collector('{ env: BOT }'), 'BOT is a secret'],
    ['./p/*.yaml', collector('{ env: NODE }'), 'NODE is a secret'],
    ['./p/*.yaml', collector('{ env: AUTH }'), 'AUTH is a secret'],
    ['./p/*.yaml', collector('{ file: ../chat }'), 'chat is a secret'],
    ['./p/*.yaml', collector('{ file: ../.env }'), '.env is not below the folder'],
    ['./p/*.yaml', collector('{ file: ./own/token }'), undefined],
    ['./p/*.yaml', collector('{ env: HTTPS_PROXY }'), 'is a variable of Node, PostgreSQL, OpenTelemetry or a proxy'],
    [
      './p/*.yaml',
      collector('{ env: OTEL_EXPORTER_OTLP_HEADERS }'),
      'is a variable of Node, PostgreSQL, OpenTelemetry',
    ],
    ['./p/*.yaml', collector('{ env: KEY_OF_MAIN }'), 'KEY_OF_MAIN is a secret of the main file'],
    ['./q.yaml, ./p/*.yaml', collector('{ env: OF_Q }'), 'OF_Q is a secret of '],
    ['./p/*.yaml', key('{ file: ../k/../k/key }'), 'the key of a: '],
    ['./p/*.yaml', key('{ file: other-name }'), 'is a secret of the main file'],
    [
      './p/*.yaml',
      `prices: { X: [{ url: "https://e.com", pointer: /a, headers: { x-key: { env: DB } } }] }\n${key('{ env: TEAM }')}`,
      'DB is a secret',
    ],
    ['{ path: ./p/*.yaml, secrets: [TEAM, k/key] }', collector('{ env: TEAM }'), undefined],
    ['{ path: ./p/*.yaml, secrets: [TEAM, k/key] }', key('{ file: other-name }'), undefined],
    ['{ path: ./p/*.yaml, secrets: [DB] }', collector('{ env: DB }'), undefined],
    ['{ path: ./p/*.yaml, secrets: [TEAM] }', collector('{ env: OTHER }'), 'secrets: [OTHER] }]'],
    ['{ path: ./p/*.yaml, secrets: [] }', collector('{ env: TEAM }'), 'TEAM is not among the secrets'],
    ['{ path: ./p/*.yaml, secret: [TEAM] }', collector('{ env: TEAM }'), 'main.yaml:7:'],
  ])('%s, %s: %s', (entry, text, wrong) => {
    const lines = load(entry, text)()
    if (wrong === undefined) expect(lines).toEqual([])
    else expect(lines.join()).toContain(wrong)
  })

  it('its collectors open what lies below its folder, or is named', () => {
    const folder = folderOf({ 'p/a.yaml': '', 'p/own/x': '', 'other/x': '', 'named/x': '' })
    symlinkSync(folder.path('other/x'), folder.path('p/link'))
    const [file, place] = [folder.path('p/a.yaml'), { file: '', line: 1, column: 1 }]
    const opened = (secrets?: readonly string[]) =>
      ['p/own/x', 'p', 'other/x', 'p/link', 'named/x'].filter(path => {
        const includes = [{ pattern: file, files: [file], place, ...(secrets && { secrets }) }]
        return mayOpen({ includes }, file, folder.path(path))
      })
    expect(opened()).toEqual(['p/own/x'])
    expect(opened([folder.path('named/x')])).toEqual(['p/own/x', 'named/x'])
    expect(mayOpen({ includes: [] }, folder.path('main.yaml'), folder.path('other/x'))).toBe(true)
  })
})
