import { OptionEntryMistake } from './mistake.ts'

/** A value that is read on one `chain`, or on several, whose names are the keys of `of`. */
interface PlacedOption {
  readonly chain?: string | undefined
  readonly of?: Readonly<Record<string, unknown>> | undefined
}

/** One such value, or several by label, for which `chain` is the one of all that name no other. */
interface PlacedValues extends PlacedOption {
  readonly values?: Readonly<Record<string, PlacedOption>> | undefined
}

interface OptionNames {
  /** Those of each chain; the first must be given. */
  readonly ofChain: readonly [string, ...string[]]
  /** Those of one value, apart from where it is read. */
  readonly ofValue: readonly string[]
}

/** Mistakes in which options stand together: for one value or several, and of each for one chain or several. */
export function placeMistakes(given: PlacedValues, { ofChain, ofValue }: OptionNames): readonly OptionEntryMistake[] {
  const { values } = given
  if (!values) return inPlace(given, ofChain)
  return [
    ...strayOf(given, ['of', ...ofChain, ...ofValue], 'belongs to one value: with values, write it at each of them'),
    ...(Object.keys(values).length === 0 ? [new OptionEntryMistake(['values'], 'must hold a value')] : []),
    ...Object.entries(values).flatMap(([label, each]) =>
      inPlace(each, ofChain, given.chain).map(
        ({ path, message }) => new OptionEntryMistake(['values', label, ...path], message),
      ),
    ),
  ]
}

function inPlace(
  given: PlacedOption,
  ofChain: OptionNames['ofChain'],
  chainOfAll?: string,
): readonly OptionEntryMistake[] {
  const [needed] = ofChain
  if (given.of) {
    return [
      ...strayOf(given, ['chain', ...ofChain], 'belongs to one chain: with of, write it under the name of each'),
      ...(Object.keys(given.of).length === 0 ? [new OptionEntryMistake(['of'], 'must hold a chain')] : []),
    ]
  }
  const mistakes: OptionEntryMistake[] = []
  if (given.chain === undefined && chainOfAll === undefined) {
    const several = `of: { ethereum: { ${needed}: "0x…" }, base: { ${needed}: "0x…" } }`
    mistakes.push(new OptionEntryMistake(['chain'], `must be the name of a chain; of several: ${several}`))
  }
  if (Reflect.get(given, needed) === undefined) {
    const words = 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these'
    mistakes.push(new OptionEntryMistake([needed], words))
  }
  return mistakes
}

function strayOf(given: object, names: readonly string[], message: string): readonly OptionEntryMistake[] {
  return names
    .filter(name => Reflect.get(given, name) !== undefined)
    .map(name => new OptionEntryMistake([name], message))
}
