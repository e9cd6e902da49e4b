import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { configFile, linesOf, mistakesIn } from './file.ts'

/** The collectors' options of a file, in their order. */
function optionsIn(text: string): unknown[] {
  const { protocols } = loadConfig(configFile(text))
  return protocols.flatMap(({ collectors }) => collectors.map(({ options }) => options))
}

/** A file whose two collectors have these options. */
const withOptions = (before: string, [first, second]: readonly [string, string]) => `service: embedded
${before}
protocols:
  - id: a
    name: A
    collectors:
      - { use: ./own.ts, id: one, options: ${first} }
      - { use: ./own.ts, id: two, options: ${second} }
`

describe('anchors and merge keys', () => {
  it.each([
    [
      'an alias',
      ['&all { a: 1, b: [2] }', '*all'],
      [
        { a: 1, b: [2] },
        { a: 1, b: [2] },
      ],
    ],
    [
      'a merged map',
      ['&all { a: 1, b: 2 }', '{ <<: *all, b: 3 }'],
      [
        { a: 1, b: 2 },
        { b: 3, a: 1 },
      ],
    ],
    ['an own key before it', ['&all { a: 1 }', '{ a: 2, <<: *all }'], [{ a: 1 }, { a: 2 }]],
    ['several', ['{ x: &x { a: 1 }, y: &y { a: 2, b: 2 } }', '{ <<: [*x, *y] }'], [expect.anything(), { a: 1, b: 2 }]],
    ['a merge of a merge', ['{ x: &x { a: 1 }, y: &y { <<: *x, b: 2 } }', '*y'], [expect.anything(), { a: 1, b: 2 }]],
    ['a name that is used again', ['{ x: &x 1, y: *x, z: &x 2 }', '{ x: *x }'], [{ x: 1, y: 1, z: 2 }, { x: 2 }]],
    ['a quoted <<, which is a key', ['{ "<<": 1 }', '{}'], [{ '<<': 1 }, {}]],
  ] as const)('takes %s', (_, options, values) => {
    expect(optionsIn(withOptions('', options))).toEqual(values)
  })

  it('takes anchors under keys that begin with x-, which mean nothing else, in included files, too', () => {
    const file = configFile('service: embedded\ninclude: [./team.yaml]\nx-shared: &o { a: 1 }\nx-more: [no, key]\n')
    const team = 'x-own: &o { a: 2 }\nprotocols: [{ id: a, name: A, collectors: [{ use: ./own.ts, options: *o }] }]\n'
    writeFileSync(join(dirname(file), 'team.yaml'), team)
    expect(loadConfig(file).protocols[0]?.collectors[0]?.options).toEqual({ a: 2 })
  })

  it('does not take an anchor of another file', () => {
    const file = configFile('service: embedded\ninclude: [./team.yaml]\nx-shared: &o { a: 1 }\n')
    writeFileSync(join(dirname(file), 'team.yaml'), 'protocols: *o\n')
    expect(mistakesIn(file).mistakes).toMatchObject([
      { place: { file: join(dirname(file), 'team.yaml'), line: 1, column: 12 } },
    ])
  })
})

/** A collector of protocol a, as a block. */
const collectors = (...entries: readonly string[]) =>
  `protocols:\n  - id: a\n    name: A\n    collectors:\n${entries.map(entry => `      - ${entry}\n`).join('')}`

describe('mistakes with anchors', () => {
  it.each([
    [
      'a mistyped key in an anchor that is used twice: once, at its place',
      `x-c: &c\n  use: host\n  sinse: 2026-11-20T13:00:00Z\nservice: embedded\n${collectors('{ <<: *c, id: one }', '{ <<: *c, id: two }')}`,
      ['3:3: unknown key "sinse" in protocols[0].collectors[0] → did you mean "since"?'],
    ],
    [
      'a wrong value in it, and one below the mistyped key',
      `x-c: &c\n  use: host\n  deadlin: 60\nservice: embedded\n${collectors('{ <<: *c, id: one }', '*c')}`,
      [
        '3:3: unknown key "deadlin" in protocols[0].collectors[0] → did you mean "deadline"?',
        '3:12: protocols[0].collectors[0].deadline: must be text, not the number 60 → write it like 60s',
      ],
    ],
    [
      'what an own key says instead',
      `x-c: &c { use: host, deadline: 60 }\nservice: embedded\n${collectors('{ <<: *c, deadline: 1 }')}`,
      ['7:29: protocols[0].collectors[0].deadline: must be text, not the number 1 → write it like 60s'],
    ],
    [
      'a map in place of a list',
      `service: embedded\nprotocols: &p { a: { id: a, name: A, collectors: [{ use: host }], x: 1 } }\n`,
      [
        '2:1: protocols: must be a list, not a map → write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]',
        '2:67: unknown key "x" in protocols[0] → known here: id, name, logo, chains, key, register, collectors',
      ],
    ],
    [
      'an unknown alias, whose text may be a secret',
      'x-base: &base {}\nservice: *basee\nlog: *hunter2\n',
      [
        '2:10: no anchor (&) of this name stands above → did you mean *base?',
        '3:6: no anchor (&) of this name stands above → write & and its name at a value above; put text that begins with * in quotes',
      ],
    ],
    [
      'an anchor below',
      'service: *s\nx-s: &s embedded\n',
      [
        '1:10: no anchor (&) of this name stands above → write & and its name at a value above; put text that begins with * in quotes',
      ],
    ],
    [
      'a value in itself',
      'service: embedded\nx-a: &a [1, { b: *a }]\n',
      ['2:18: this stands for a value that it is a part of → write the value itself'],
    ],
    [
      'a merge of itself',
      'service: embedded\nx-a: &a { <<: *a }\n',
      ['2:15: this stands for a value that it is a part of → write the value itself'],
    ],
    [
      'a merge of no map',
      'service: embedded\nx-a: &a [1]\nlog: { <<: *a }\n',
      ['3:8: << takes a map, or a list of maps → name the anchor of one: <<: *NAME'],
    ],
    ['an alias as a key', 'x-a: &a service\n*a : embedded\n', ['2:1: a key must be plain text → write key: value']],
    [
      'two merges in one map',
      'service: embedded\nx-a: &a {}\nlog: { <<: *a, <<: *a }\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]\n',
      ['3:16: this key is given twice; the first is on line 3 → keep one of them'],
    ],
    ['a bomb', bomb(9), ['4:10: with its aliases, this has more than 100000 parts → use fewer aliases']],
    [
      'nesting by aliases',
      `service: embedded\n${Array.from({ length: 40 }, (_, at) => `x-${at}: &a${at} [${at === 0 ? '' : `*a${at - 1}`}]\n`).join('')}`,
      [expect.stringMatching(/^33:\d+: with this, maps and lists are nested more than 32 deep → write them flatter$/)],
    ],
  ])('tells %s', (_, text, lines) => {
    expect(linesOf(text).slice(0, lines.length + 1)).toEqual(lines)
  })
})

/** Lines each of which stands for ten times the one before. */
function bomb(lines: number): string {
  const each = (at: number) => `x-${at}: &a${at} [${Array.from({ length: 40 }, () => `*a${at - 1}`).join(', ')}]\n`
  return `x-0: &a0 [${'1, '.repeat(40)}]\n${Array.from({ length: lines }, (_, at) => each(at + 1)).join('')}`
}
