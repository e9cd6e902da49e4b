import { ValueMistake } from './mistake.ts'

/** A value that is read on one `chain`, or on several, whose names are the keys of `of`. */
interface Placed {
  readonly chain?: string | undefined
  readonly of?: Readonly<Record<string, unknown>> | undefined
}

/** One such value, or several by label, for which `chain` is the one of all that name no other. */
interface PlacedValues extends Placed {
  readonly values?: Readonly<Record<string, Placed>> | undefined
}

interface OptionNames {
  /** Those of each chain; the first must be given. */
  readonly ofChain: readonly [string, ...string[]]
  /** Those of one value, apart from where it is read. */
  readonly ofValue: readonly string[]
}

/** Mistakes in which options stand together: for one value or several, and of each for one chain or several. */
export function placeMistakes(given: PlacedValues, { ofChain, ofValue }: OptionNames): readonly ValueMistake[] {
  const { values } = given
  if (!values) return inPlace(given, ofChain)
  return [
    ...strayOf(given, ['of', ...ofChain, ...ofValue], 'belongs to one value: with values, write it at each of them'),
    ...(Object.keys(values).length === 0 ? [new ValueMistake(['values'], 'must hold a value')] : []),
    ...Object.entries(values).flatMap(([label, each]) =>
      inPlace(each, ofChain, given.chain).map(
        ({ path, message }) => new ValueMistake(['values', label, ...path], message),
      ),
    ),
  ]
}

function inPlace(given: Placed, ofChain: OptionNames['ofChain'], chainOfAll?: string): readonly ValueMistake[] {
  const [needed] = ofChain
  if (given.of) {
    return [
      ...strayOf(given, ['chain', ...ofChain], 'belongs to one chain: with of, write it under the name of each'),
      ...(Object.keys(given.of).length === 0 ? [new ValueMistake(['of'], 'must hold a chain')] : []),
    ]
  }
  const mistakes: ValueMistake[] = []
  if (given.chain === undefined && chainOfAll === undefined) {
    const several = `of: { ethereum: { ${needed}: "0x…" }, base: { ${needed}: "0x…" } }`
    mistakes.push(new ValueMistake(['chain'], `must be the name of a chain; of several: ${several}`))
  }
  if (Reflect.get(given, needed) === undefined) {
    const words = 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these'
    mistakes.push(new ValueMistake([needed], words))
  }
  return mistakes
}

function strayOf(given: object, names: readonly string[], message: string): readonly ValueMistake[] {
  return names.filter(name => Reflect.get(given, name) !== undefined).map(name => new ValueMistake([name], message))
}
