// Lays out railroad diagrams. Each piece has a width and the space it needs above and below its line, and draws itself
// at a point.

export interface DiagramPiece {
  readonly width: number
  readonly up: number
  readonly down: number
  draw(x: number, y: number): string
}

const ARC = 8
const GAP = 8
const LINE_GAP = 10
const BOX_HALF = 12
const CHARACTER = 7.6

const number = (value: number): string => String(Math.round(value * 10) / 10)
const path = (d: string): string => `<path d="${d}"/>`
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const rail = (x: number, y: number, length: number): string =>
  length > 0 ? path(`M${number(x)} ${number(y)}h${number(length)}`) : ''

export const skip: DiagramPiece = { width: 0, up: 0, down: 0, draw: () => '' }

/** `kind` is its CSS class; with an address it is a link. */
export function box(text: string, kind: 'word' | 'token' | 'rule', address?: string): DiagramPiece {
  const width = text.length * CHARACTER + 20
  return {
    width,
    up: BOX_HALF,
    down: BOX_HALF,
    draw: (x, y) => {
      const round = kind === 'rule' ? 3 : BOX_HALF
      const shape = `<rect x="${number(x)}" y="${number(y - BOX_HALF)}" width="${number(width)}" height="${2 * BOX_HALF}" rx="${round}"/>`
      const label = `<text x="${number(x + width / 2)}" y="${number(y + 4)}">${escaped(text)}</text>`
      const drawn = `<g class="${kind}">${shape}${label}</g>`
      return address === undefined ? drawn : `<a href="${escaped(address)}">${drawn}</a>`
    },
  }
}

export function sequence(pieces: readonly DiagramPiece[]): DiagramPiece {
  if (pieces.length === 0) return skip
  const width = pieces.reduce((sum, piece) => sum + piece.width, 0) + LINE_GAP * (pieces.length - 1)
  return {
    width,
    up: Math.max(...pieces.map((piece) => piece.up)),
    down: Math.max(...pieces.map((piece) => piece.down)),
    draw: (x, y) => {
      let at = x
      return pieces
        .map((piece, i) => {
          const before = i === 0 ? '' : rail(at, y, LINE_GAP)
          if (i > 0) at += LINE_GAP
          const drawn = before + piece.draw(at, y)
          at += piece.width
          return drawn
        })
        .join('')
    },
  }
}

/** The first on the line, the others below it. */
export function choice(pieces: readonly DiagramPiece[]): DiagramPiece {
  const [first = skip, ...others] = pieces
  if (others.length === 0) return first
  const inner = Math.max(...pieces.map((piece) => piece.width))
  let depth = first.down
  const placed = others.map((piece) => {
    const offset = Math.max(depth + GAP + piece.up, 2 * ARC)
    depth = offset + piece.down
    return { piece, offset }
  })
  const side = 2 * ARC
  return {
    width: inner + 2 * side,
    up: first.up,
    down: depth,
    draw: (x, y) => {
      const right = x + side + inner
      const level = (piece: DiagramPiece, at: number): string =>
        piece.draw(x + side, at) + rail(x + side + piece.width, at, inner - piece.width)
      const branch = ({ piece, offset }: (typeof placed)[number]): string => {
        const drop = number(offset - 2 * ARC)
        const down = `M${number(x)} ${number(y)}a${ARC} ${ARC} 0 0 1 ${ARC} ${ARC}v${drop}a${ARC} ${ARC} 0 0 0 ${ARC} ${ARC}`
        const up = `M${number(right)} ${number(y + offset)}a${ARC} ${ARC} 0 0 0 ${ARC} ${-ARC}v-${drop}a${ARC} ${ARC} 0 0 1 ${ARC} ${-ARC}`
        return path(down) + level(piece, y + offset) + path(up)
      }
      return rail(x, y, side) + level(first, y) + rail(right, y, side) + placed.map(branch).join('')
    },
  }
}

export const optional = (piece: DiagramPiece): DiagramPiece => choice([skip, piece])

/** One or more times; the return line passes the separator. */
export function repeated(piece: DiagramPiece, separator: DiagramPiece = skip): DiagramPiece {
  const inner = Math.max(piece.width, separator.width)
  const side = 2 * ARC
  const offset = Math.max(piece.down + GAP + separator.up, 2 * ARC)
  return {
    width: inner + 2 * side,
    up: piece.up,
    down: offset + separator.down,
    draw: (x, y) => {
      const [left, right] = [x + side, x + side + inner]
      const drop = number(offset - 2 * ARC)
      const back = y + offset
      const around =
        path(
          `M${number(right)} ${number(y)}a${ARC} ${ARC} 0 0 1 ${ARC} ${ARC}v${drop}a${ARC} ${ARC} 0 0 1 ${-ARC} ${ARC}`,
        ) +
        path(
          `M${number(left)} ${number(back)}a${ARC} ${ARC} 0 0 1 ${-ARC} ${-ARC}v-${drop}a${ARC} ${ARC} 0 0 1 ${ARC} ${-ARC}`,
        )
      const spare = (inner - separator.width) / 2
      const onTheWay = rail(left, back, spare) + separator.draw(left + spare, back) + rail(right - spare, back, spare)
      return (
        rail(x, y, side) +
        piece.draw(left, y) +
        rail(left + piece.width, y, inner - piece.width + side) +
        around +
        onTheWay
      )
    },
  }
}

/** One diagram as an SVG element with its own size. */
export function svg(piece: DiagramPiece, title: string): string {
  const margin = 12
  const [width, y] = [piece.width + 2 * margin + 40, piece.up + margin]
  const height = y + piece.down + margin
  const end = (x: number): string => `<circle cx="${number(x)}" cy="${number(y)}" r="4"/>`
  const left = margin + 4
  const drawn = end(left) + rail(left, y, 16) + piece.draw(left + 16, y) + rail(left + 16 + piece.width, y, 16)
  const size = `width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}"`
  return `<svg ${size} role="img" aria-label="${escaped(title)}">${drawn}${end(left + 32 + piece.width)}</svg>`
}
