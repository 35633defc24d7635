-- +goose Up

-- PostgreSQL's triggers change here; these call nothing.
SELECT 1;
