import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { formatMistakes, type PlacedMistake } from '../../src/config/mistakes.ts'
import { dice } from '../../src/devchain/dice.ts'
import { faultLine } from '../../src/model/fault.ts'
import { repetitions } from '../support/soak.ts'
import { configFile } from './file.ts'
import { spoil } from './spoil.ts'

const spoiltFiles = repetitions({ test: 40, soak: 5_000 })

/** Words that no operator should have to read. */
const jargon = /Invalid input|Invalid option|expected .* received|undefined|NaN|\[object|^\s+at |node:|zod|YAML[A-Z]/m

const texts = ['local.yaml', 'production.example.yaml'].map(name =>
  readFileSync(new URL(`../../config/${name}`, import.meta.url), 'utf8'),
)

/** Whether a place lies in the text: its line exists, and its column is at most one past the line's end. */
function isInside({ place: { line, column } }: PlacedMistake, text: string): boolean {
  const written = text.split(/\r\n|\r|\n/)[line - 1]
  return written !== undefined && line >= 1 && column >= 1 && column <= written.length + 1
}

function check(file: string, spoilt: string | Uint8Array): 'loads' | 'mistaken' {
  try {
    loadConfig(file)
    return 'loads'
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    expect(error.mistakes.length).toBeGreaterThan(0)
    const written = new TextDecoder('utf-8').decode(Buffer.from(spoilt))
    expect(error.mistakes.filter(mistake => !isInside(mistake, written))).toEqual([])
    expect(error.mistakes.filter(({ message, fix }) => message === '' || fix === '')).toEqual([])
    // The folder's random name may hold any word.
    for (const text of [formatMistakes(error.mistakes), faultLine(error)])
      expect(text.replaceAll(file, 'FILE')).not.toMatch(jargon)
    return 'mistaken'
  }
}

it(`${spoiltFiles} random mistakes are each reported in plain words, at a place in the file`, () => {
  const file = configFile('')
  const outcomes = Array.from({ length: spoiltFiles }, (_, seed) => {
    const chance = dice(seed)
    const { how, spoilt } = spoil(texts[seed % texts.length] ?? '', chance)
    writeFileSync(file, spoilt)
    try {
      return check(file, spoilt)
    } catch (error) {
      throw new Error(`seed ${seed} (${how})`, { cause: error })
    }
  })
  // Some mistakes leave a file that means something all the same, like one in a comment; most do not.
  expect(outcomes.filter(outcome => outcome === 'mistaken').length).toBeGreaterThan(spoiltFiles / 2)
})
