-- hi; create table no
CREATE TABLE public.users (
    id bigint NOT NULL,
    name character varying(255) DEFAULT 'a;b'::character varying,
    price numeric(10,2),
    CONSTRAINT x CHECK (id > 0)
);

CREATE FUNCTION f(a int) RETURNS int
    LANGUAGE plpgsql AS $$
begin
  create table foo(x int);
  return 1;
end;
$$;
create view v as select case when 1 then 2 end from x;
CREATE PROCEDURE p()
BEGIN
  DECLARE x INT;
  IF a THEN SET x=1; END IF;
  BEGIN
  END;
  INSERT INTO a VALUES (1);
END;
INSERT INTO users VALUES (1);
INSERT INTO users VALUES (2);
INSERT INTO users VALUES (3);
CREATE UNIQUE INDEX CONCURRENTLY ix ON users (id);
COPY public.users (id) FROM stdin;
1	;
2	it's
\.
create type mood as enum ('a','b');
create table t2 (a int, b text)
