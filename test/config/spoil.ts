import type { Dice } from '../../src/devchain/dice.ts'

/** One way to spoil a configuration file, as people, editors and disks do it. */
type Spoiler = (text: string, dice: Dice) => string | Uint8Array

const scalars = ['5', '-1', '1.5', 'true', 'yes', 'null', '~', '""', "' '", '[]', '{}', '[1, 2]', '{ a: b }', '0x1f']
const oddities = [
  '.inf',
  '.nan',
  '1e999',
  '2026-11-20',
  '!!binary aGk=',
  '!odd x',
  '*x',
  '&x',
  '|',
  '>-',
  '@x',
  '`x',
  '%x',
]
const punctuation = [
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  ':',
  ': ',
  ',',
  '#',
  ' #',
  '- ',
  '\t',
  '?',
  '&',
  '*',
  '!',
  '|',
  '\n',
  '---\n',
]

const pick = <T>(list: readonly T[], dice: Dice): T => {
  const one = list[dice.whole(0, list.length - 1)]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}

/** Every place where the text matches, as [start, end]; there is always at least one in the shipped files. */
function place(text: string, pattern: RegExp, dice: Dice): readonly [number, number] {
  const found = [...text.matchAll(pattern)].map(match => [match.index, match.index + match[0].length] as const)
  return found.length === 0 ? [0, 0] : pick(found, dice)
}

const replace = (text: string, [from, to]: readonly [number, number], by: string) =>
  text.slice(0, from) + by + text.slice(to)

const key = /(?<=^[ -]*|[{,] )[a-zA-Z]+(?=:( |$))/gm
const value = /(?<=: )[^\n#{}[\],]+/g
const line = /^[^\n#]*\S[^\n]*\n/gm
const anywhere = /(?=[\s\S])/g

const spoilers: Readonly<Record<string, Spoiler>> = {
  'a typo in a key': (text, dice) => {
    const at = place(text, key, dice)
    const name = text.slice(...at)
    const cut = dice.whole(0, name.length - 1)
    const middle = pick(['', 'x', name.slice(cut, cut + 1).repeat(2), name.slice(cut, cut + 1).toUpperCase()], dice)
    return replace(text, at, name.slice(0, cut) + middle + name.slice(cut + 1))
  },
  'another key': (text, dice) =>
    replace(text, place(text, key, dice), pick(['id', 'foo', '__proto__', '<<', '5', ''], dice)),
  'a line less': (text, dice) => replace(text, place(text, line, dice), ''),
  'a line twice': (text, dice) => {
    const at = place(text, line, dice)
    return replace(text, at, text.slice(...at).repeat(2))
  },
  'another value': (text, dice) => replace(text, place(text, value, dice), pick(scalars, dice)),
  'an odd value': (text, dice) => replace(text, place(text, value, dice), pick(oddities, dice)),
  'no value': (text, dice) => replace(text, place(text, value, dice), ''),
  'other indentation': (text, dice) =>
    replace(text, place(text, /^ */gm, dice), pick(['', ' ', '   ', '\t', '     '], dice)),
  'a character more': (text, dice) => replace(text, place(text, anywhere, dice), pick(punctuation, dice)),
  'a character less': (text, dice) => {
    const [at] = place(text, anywhere, dice)
    return replace(text, [at, at + 1], '')
  },
  'two lines exchanged': (text, dice) => {
    const lines = text.split('\n')
    const at = dice.whole(0, lines.length - 2)
    return [...lines.slice(0, at), lines[at + 1] ?? '', lines[at] ?? '', ...lines.slice(at + 2)].join('\n')
  },
  'the end missing': (text, dice) => text.slice(0, dice.whole(0, text.length)),
  'random bytes': (text, dice) => {
    const bytes = Buffer.from(text)
    const at = dice.whole(0, bytes.length)
    const noise = Uint8Array.from({ length: dice.whole(1, 20) }, () => dice.whole(0, 255))
    return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)])
  },
  'nothing but noise': (_, dice) => Uint8Array.from({ length: dice.whole(0, 200) }, () => dice.whole(0, 255)),
  'deep nesting': (text, dice) => {
    const deep = pick(['[', '{a: ', '- ', 'a: ', '? '], dice).repeat(pick([5, 40, 300, 5_000], dice))
    return replace(text, place(text, value, dice), deep)
  },
  'anchors and aliases': (text, dice) => {
    const first = replace(text, place(text, value, dice), '&all [&one x, *one, *all]')
    return replace(first, place(first, value, dice), pick(['*one', '*all', '{ <<: *all }', '*none'], dice))
  },
}

/** The text with one to three mistakes of random kinds. */
export function spoil(text: string, dice: Dice): { readonly how: string; readonly spoilt: string | Uint8Array } {
  const kinds = Object.keys(spoilers)
  let spoilt: string | Uint8Array = text
  const how: string[] = []
  for (let left = dice.whole(1, 3); left > 0 && typeof spoilt === 'string'; left -= 1) {
    const kind = pick(kinds, dice)
    how.push(kind)
    spoilt = spoilers[kind]?.(spoilt, dice) ?? spoilt
  }
  return { how: how.join(', '), spoilt }
}
