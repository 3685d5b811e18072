// What an app has opened, for its end: closed in the reverse order, also when a start fails half-way.
interface Closable {
  close(): Promise<void> | void
}

export class Opened {
  private readonly parts: Closable[] = []

  add<Part extends Closable>(part: Part): Part {
    this.parts.push(part)
    return part
  }

  async close(): Promise<void> {
    for (let part = this.parts.pop(); part !== undefined; part = this.parts.pop()) await part.close()
  }
}
