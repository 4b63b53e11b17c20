// The part of GraphQL that gh uses: one operation with variables, aliases, arguments and fragments,
// answered from plain objects. A field with arguments is a function of them; a missing field
// is null.

const TOKEN = /\.\.\.|[{}()[\]:$!=]|"(?:[^"\\]|\\.)*"|-?\d+|[A-Za-z_]\w*/g

class Parser {
    constructor(text, variables) {
        this.tokens = text.match(TOKEN) ?? []
        this.variables = variables
        this.fragments = new Map()
    }

    take(expected) {
        const token = this.tokens.shift()
        if (token === undefined || (expected && token !== expected))
            throw new Error(`GraphQL: '${token}' where '${expected ?? 'more'}' should be`)
        return token
    }

    accept(token) {
        return this.tokens[0] === token && this.tokens.shift()
    }

    // Returns { query: selections }, and stores the fragments separately.
    document() {
        let operation = null
        while (this.tokens.length) {
            if (this.accept('fragment')) {
                const name = this.take()
                this.take('on')
                this.take()
                this.fragments.set(name, this.selections())
            } else {
                while (this.tokens[0] !== '{') this.take() // skip its kind, its name, and the types of variables
                operation = this.selections()
            }
        }
        return operation
    }

    selections() {
        const list = []
        this.take('{')
        while (!this.accept('}')) list.push(this.accept('...') ? this.spread() : this.field())
        return list
    }

    spread() {
        if (!this.accept('on')) return { fragment: this.take() }
        this.take()
        return { inline: this.selections() }
    }

    field() {
        const field = { alias: this.take(), args: {} }
        field.name = this.accept(':') ? this.take() : field.alias
        if (this.accept('(')) while (!this.accept(')')) Object.assign(field.args, this.pair())
        if (this.tokens[0] === '{') field.selections = this.selections()
        return field
    }

    pair() {
        const name = this.take()
        this.take(':')
        return { [name]: this.value() }
    }

    value() {
        const token = this.take()
        if (token === '$') return this.variables[this.take()]
        if (token === '[') return this.list()
        if (token === '{') return this.object()
        return /^["\-\d]|^(true|false|null)$/.test(token) ? JSON.parse(token) : token
    }

    list() {
        const list = []
        while (!this.accept(']')) list.push(this.value())
        return list
    }

    object() {
        const object = {}
        while (!this.accept('}')) Object.assign(object, this.pair())
        return object
    }
}

function select(value, selections, fragments) {
    if (Array.isArray(value)) return value.map(item => select(item, selections, fragments))
    if (!selections || value === null || value === undefined) return value ?? null
    const answer = {}
    for (const s of selections) {
        const inner = s.inline ?? fragments.get(s.fragment)
        if (inner) {
            Object.assign(answer, select(value, inner, fragments))
        } else {
            const found = value[s.name]
            const result = typeof found === 'function' ? found.call(value, s.args) : found
            answer[s.alias] = select(result, s.selections, fragments)
        }
    }
    return answer
}

/** Answers the query of a request from the fields of root. */
export function execute(query, variables, root) {
    const parser = new Parser(query, variables ?? {})
    const operation = parser.document()
    return select(root, operation, parser.fragments)
}

/** The name of a request's operation, such as "PullRequestCreate". */
export function operationName(query) {
    return /\b(?:query|mutation)\s+(\w+)/.exec(query)?.[1] ?? null
}
