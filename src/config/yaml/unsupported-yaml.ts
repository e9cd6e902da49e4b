import { type Document, isAlias, isCollection, isNode, isScalar, type Node, type Scalar, visit } from 'yaml'
import type { PlacedMistake } from '../mistakes/mistakes.ts'
import { configDepthMax } from './limits.ts'

/** A YAML feature that this file does not support; its place is an offset. */
export interface UnsupportedYaml extends PlacedMistake<number> {
  /** Whether the file's value can be read nevertheless. */
  readonly readable: boolean
}

const unsupported = (node: Node, message: string, fix: string, readable: boolean): UnsupportedYaml => ({
  place: node.range?.[0] ?? 0,
  message,
  fix,
  readable,
})

/** Finds YAML that an operator hardly meant, or that would make the file mean more than it shows. */
export function unsupportedYaml(document: Document.Parsed): UnsupportedYaml[] {
  const found: UnsupportedYaml[] = []
  if (document.directives.yaml.version !== '1.2') {
    const message = 'only YAML 1.2 is read'
    found.push({ place: 0, message, fix: 'remove the line that begins with %YAML', readable: false })
  }
  visit(document, (key, node, ancestors) => {
    if (!isNode(node)) return undefined
    const tooDeep = ancestors.filter(isCollection).length > configDepthMax
    found.push(...(key === 'key' ? unsupportedKey(node) : unsupportedValue(node)))
    if (!tooDeep) return undefined
    const message = `maps and lists are nested more than ${configDepthMax} deep here`
    found.push(unsupported(node, message, 'write them flatter', false))
    return visit.BREAK
  })
  return found
}

function unsupportedKey(node: Node): UnsupportedYaml[] {
  if (!isScalar(node)) return unsupportedValue(node)
  if (node.value === '<<')
    return [unsupported(node, 'merge keys (<<) are not used here', 'write the keys themselves', true)]
  if (node.value === '__proto__') return [unsupported(node, 'a key cannot have this name', 'rename it', true)]
  return unsupportedValue(node)
}

function unsupportedValue(node: Node): UnsupportedYaml[] {
  if (isAlias(node)) {
    return [
      unsupported(
        node,
        'aliases (*) are not used here',
        'write the value itself; put text that begins with * in quotes',
        false,
      ),
    ]
  }
  if (node.anchor !== undefined) {
    return [
      unsupported(node, 'anchors (&) are not used here', 'remove it; put text that begins with & in quotes', true),
    ]
  }
  return isScalar(node) && typeof node.value === 'number' ? unsupportedNumber(node, node.value) : []
}

function unsupportedNumber(node: Scalar, value: number): UnsupportedYaml[] {
  if (!Number.isFinite(value)) {
    return [unsupported(node, 'this is not a finite number', 'write a finite one; put text in quotes', true)]
  }
  return losesDigits(node.source ?? '', value)
    ? [unsupported(node, 'a number this long would lose digits', 'put it in quotes', true)]
    : []
}

/** Whether a decimal number as it is written is not the one that JavaScript writes for it. */
function losesDigits(written: string, value: number): boolean {
  if (/^[-+]?\d+$/.test(written)) return !Number.isSafeInteger(value)
  const digits = significantDigits(written)
  // Fewer digits are always kept.
  return digits !== undefined && digits.length > 15 && digits !== significantDigits(String(value))
}

/** The digits of a decimal number from the first to the last that is not 0. */
function significantDigits(number: string): string | undefined {
  const [, whole, part = ''] = /^[-+]?(\d*)(?:\.(\d*))?(?:e[-+]?\d+)?$/i.exec(number) ?? []
  return whole === undefined ? undefined : `${whole}${part}`.replace(/^0+|0+$/g, '')
}
