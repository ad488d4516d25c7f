/** A path of the read API that lists in; a table with a filter and pages, all of it in the address, out. */
import type { ComponentChildren } from "preact";
import type { Listed } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { change, type Query, query } from "../place.ts";
import { Scrolled, Trouble } from "./text.tsx";

export interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ComponentChildren;
}

export interface TableProps<T> {
  /** Of the read API. */
  readonly list: string;
  readonly params?: Query;
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string | number;
  /** What is in it: `proxies`. */
  readonly what: string;
  /** What to do where there is none. */
  readonly empty: ComponentChildren;
}

export function FilteredTable<T>({ list, params = {}, columns, rowKey, what, empty }: TableProps<T>) {
  const q = query.value.get("q") ?? "";
  const page = query.value.get("page") ?? "";
  const { value, error } = useAsk<Listed<T>>(list, { ...params, q, page }).value;
  return (
    <>
      <p class="filter">
        <label>
          Filter{" "}
          <input
            type="search"
            value={q}
            onInput={(event) => change({ q: event.currentTarget.value, page: undefined })}
          />
        </label>{" "}
        <span role="status">{value ? `${value.total} ${what}` : ""}</span>
      </p>
      <Trouble error={error} />
      {value && value.total === 0 ? (
        <p>{q === "" ? empty : `None of the ${what} has “${q}”. Clear the filter to see all.`}</p>
      ) : null}
      {value && value.total > 0 ? <Rows caption={what} columns={columns} rows={value.rows} rowKey={rowKey} /> : null}
      {value && value.pages > 1 ? <Pager page={value.page} pages={value.pages} /> : null}
    </>
  );
}

export interface RowsProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string | number;
}

export function Rows<T>({ caption, columns, rows, rowKey }: RowsProps<T>) {
  return (
    <Scrolled label={caption}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ title, show }) => (
                <td key={title}>{show(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

function Pager({ page, pages }: { readonly page: number; readonly pages: number }) {
  return (
    <p class="pager">
      <button type="button" disabled={page <= 1} onClick={() => change({ page: String(page - 1) })}>
        Before
      </button>{" "}
      page {page} of {pages}{" "}
      <button type="button" disabled={page >= pages} onClick={() => change({ page: String(page + 1) })}>
        Next
      </button>
    </p>
  );
}
