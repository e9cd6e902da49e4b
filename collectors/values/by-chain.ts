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
export function placeMistakes(options: PlacedValues, { ofChain, ofValue }: OptionNames): readonly OptionEntryMistake[] {
  const { values } = options
  if (!values) return inPlace(options, ofChain)
  return [
    ...strayOf(options, ['of', ...ofChain, ...ofValue], 'belongs to one value: with values, write it at each of them'),
    ...(Object.keys(values).length === 0 ? [new OptionEntryMistake(['values'], 'must hold a value')] : []),
    ...Object.entries(values).flatMap(([label, each]) =>
      inPlace(each, ofChain, options.chain).map(
        ({ path, message }) => new OptionEntryMistake(['values', label, ...path], message),
      ),
    ),
  ]
}

function inPlace(
  options: PlacedOption,
  ofChain: OptionNames['ofChain'],
  chainOfAll?: string,
): readonly OptionEntryMistake[] {
  const [option] = ofChain
  if (options.of) {
    return [
      ...strayOf(options, ['chain', ...ofChain], 'belongs to one chain: with of, write it under the name of each'),
      ...(Object.keys(options.of).length === 0 ? [new OptionEntryMistake(['of'], 'must hold a chain')] : []),
    ]
  }
  const mistakes: OptionEntryMistake[] = []
  if (options.chain === undefined && chainOfAll === undefined) {
    const several = `of: { ethereum: { ${option}: "0x…" }, base: { ${option}: "0x…" } }`
    mistakes.push(new OptionEntryMistake(['chain'], `must be the name of a chain; of several: ${several}`))
  }
  if (Reflect.get(options, option) === undefined) {
    const words = 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these'
    mistakes.push(new OptionEntryMistake([option], words))
  }
  return mistakes
}

function strayOf(given: object, names: readonly string[], message: string): readonly OptionEntryMistake[] {
  return names
    .filter(name => Reflect.get(given, name) !== undefined)
    .map(name => new OptionEntryMistake([name], message))
}
